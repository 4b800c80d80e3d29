// What the checks need to know of Rust source text, without a parser: comments, tests, modules, paths.

/** The text with comments, strings and characters blanked, so that each offset stays what it is. */
export function code(text) {
  const pattern =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|\bb?r(#*)"[\s\S]*?"\1|\bb?"(?:\\[\s\S]|[^"\\])*"|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[^']+|[^'\\])'/g;
  return text.replace(pattern, (part) => part.replace(/[^\n]/g, " "));
}

/** The offset after the brace that closes the one at `open`. */
function closing(text, open) {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** The text with modules of tests blanked. */
export function withoutTests(text) {
  const start =
    /#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*(\{|;)/g;
  for (let found = start.exec(text); found !== null; found = start.exec(text)) {
    const end = found[1] === ";" ? start.lastIndex : closing(text, start.lastIndex - 1);
    text = text.slice(0, found.index) + text.slice(found.index, end).replace(/[^\n]/g, " ") + text.slice(end);
  }
  return text;
}

/** From where to where each `mod name { ... }` reaches. */
export function inlineModules(text) {
  return [...text.matchAll(/\bmod\s+\w+\s*\{/g)].map((found) => {
    const open = found.index + found[0].length - 1;
    return [open, closing(text, open)];
  });
}

/**
 * The paths that the text names, those of `use` trees written out one by one: their segments, where they are, the
 * name under which they are known from here on, and whether they are passed on to others. `body` is the text without
 * `use` and `mod` items.
 */
export function pathsIn(text) {
  const paths = [];
  const body = text
    .replace(/\bmod\s+\w+\s*;/g, (item) => " ".repeat(item.length))
    .replace(/\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);/g, (whole, isPublic, tree, at) => {
      for (const { segments, alias } of leaves(tree.replace(/\s+/g, " ").trim())) {
        paths.push({ segments, alias, isPublic: isPublic !== undefined, at });
      }
      return whole.replace(/[^\n]/g, " ");
    });
  for (const found of body.matchAll(/(?<![\w:])[a-z_]\w*(?:::\w+)+/g)) {
    const segments = found[0].split("::");
    paths.push({ segments, alias: segments.at(-1), isPublic: false, at: found.index });
  }
  return { paths, body };
}

/** `a::{b, c::{self, d as e}}` -> a::b, a::c, a::c::d known as e. */
function leaves(tree, before = []) {
  const open = tree.indexOf("{");
  if (open >= 0) {
    const prefix = tree
      .slice(0, open)
      .split("::")
      .map((part) => part.trim())
      .filter(Boolean);
    return members(tree.slice(open + 1, tree.lastIndexOf("}"))).flatMap((member) =>
      leaves(member, [...before, ...prefix]),
    );
  }
  const [path, known] = tree.split(" as ").map((part) => part.trim());
  const own = path.split("::").filter((part) => part !== "");
  const segments = [...before, ...own].filter(
    (part, index, all) => part !== "self" || (index === 0 && all.length > 1),
  );
  return [{ segments, alias: known ?? segments.at(-1) }];
}

/** Splits at the commas outside of braces. */
function members(list) {
  const parts = [""];
  let depth = 0;
  for (const letter of list) {
    if (letter === "{") depth += 1;
    if (letter === "}") depth -= 1;
    if (letter === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}
