import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const FOLDERS = [".", "docs", "catalog", "bench", "examples"];
const pages = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map((entry) => join(folder, entry.name)),
);

/** Files that a page links to, relative to the root. */
function linksOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target as string);
  const local = targets.filter((target) => !/^(https?:|#|mailto:)/.test(target));
  return local.map((target) => join(dirname(page), target.replace(/#.*$/, "")));
}

describe("the documentation", () => {
  it.each(pages)("%s links to files that exist", (page) => {
    const broken = linksOf(page).filter((target) => !existsSync(join(ROOT, target)));
    expect(broken).toEqual([]);
  });

  it("is reachable from the README", () => {
    const reached = new Set(["README.md"]);
    for (const page of reached) {
      for (const target of linksOf(page)) if (target.endsWith(".md")) reached.add(relative(".", target));
    }
    const docs = pages.filter((page) => page.startsWith("docs"));
    expect(docs.filter((page) => !reached.has(page))).toEqual([]);
  });
});
