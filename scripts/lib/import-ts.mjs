// Imports one TypeScript file that itself imports only packages.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { fromRoot } from "./paths.mjs";

export async function importTypeScript(file) {
  const { default: ts } = await import("typescript");
  const { outputText } = ts.transpileModule(readFileSync(file, "utf8"), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  });
  // Inside the repository, so that packages are found.
  const folder = mkdtempSync(fromRoot("node_modules/.import-"));
  try {
    const target = join(folder, "module.mjs");
    writeFileSync(target, outputText);
    return await import(pathToFileURL(target).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
