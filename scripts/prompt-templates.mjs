// Digests of the prompt templates of bootstrap, which it does not export -> ts/agent/prompt/bootstrap-templates.ts.
import { readFileSync, writeFileSync } from "node:fs";
import { importTypeScript } from "./lib/import-ts.mjs";
import { done, main } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";

const PACKAGE = "@elizaos/plugin-bootstrap";

await main(async () => {
  const { default: ts } = await import("typescript");
  const { parseTemplate } = await importTypeScript(fromRoot("ts/agent/prompt/template.ts"));
  const { main: entry, version } = JSON.parse(
    readFileSync(fromRoot(`node_modules/${PACKAGE}/package.json`), "utf8"),
  );
  const path = fromRoot(`node_modules/${PACKAGE}/${entry}`);
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.ES2022, false);
  const found = new Map();
  const visit = (node) => {
    if (ts.isVariableDeclaration(node) && /Template$/.test(node.name.text ?? "") && node.initializer) {
      if (ts.isNoSubstitutionTemplateLiteral(node.initializer))
        found.set(node.name.text, node.initializer.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const rows = [...found].flatMap(([name, text]) => {
    const parts = parseTemplate(text);
    if (parts === undefined || !parts.some((part) => part.name === "providers")) return [];
    const compact = parts.map((part) =>
      part.kind === "variable" ? part.name : [part.length, part.anchor, part.digest],
    );
    return [`  [${JSON.stringify(name)}, ${JSON.stringify(compact)}],`];
  });
  writeFileSync(
    fromRoot("ts/agent/prompt/bootstrap-templates.ts"),
    `// Made by scripts/prompt-templates.mjs from ${PACKAGE} ${version}.
import type { CompactTemplate } from "./template.js";

/** The prompt templates of bootstrap that name providers, by the digests of their texts. */
export const BOOTSTRAP_TEMPLATES: readonly (readonly [name: string, CompactTemplate])[] = [
${rows.join("\n")}
];
`,
  );
  done(`${rows.length} templates of ${version}`);
});
