// The texts in which an engine may write a value.

/** Most orders of properties that are tried for one value. */
const MOST = 5040;

/** Blanks after commas and colons, and the line breaks and indents of a style. */
const styles = {
  spaced: { comma: ", ", colon: ": " },
  compact: { comma: ",", colon: ":" },
  lines: { comma: ",", colon: ": ", indent: "    " },
};

/** Our grammars write `, ` and `: `; those of others also admit other blanks. */
export const ourTexts = (value) => textsOf(value, [styles.spaced]);
export const anyTexts = (value) => textsOf(value, Object.values(styles));

/**
 * A schema orders the properties of the text, an instance of the suite does not: each order is one of its texts, at
 * most `MOST` of them.
 */
function textsOf(value, wanted) {
  const texts = wanted.flatMap((style) => [...take(write(value, style, ""), MOST)]);
  return [...new Set(texts)];
}

function* take(items, most) {
  let count = 0;
  for (const item of items) {
    if (count >= most) return;
    count += 1;
    yield item;
  }
}

function* write(value, style, margin) {
  if (Array.isArray(value)) yield* bracketed("[]", [value], element(style), style, margin);
  else if (value !== null && typeof value === "object")
    yield* bracketed("{}", permutations(Object.entries(value)), field(style), style, margin);
  else yield JSON.stringify(value);
}

const element = (style) => (item, margin) => write(item, style, margin);

const field = (style) =>
  function* ([key, item], margin) {
    for (const text of write(item, style, margin)) yield JSON.stringify(key) + style.colon + text;
  };

function* bracketed([open, close], orders, writeOne, style, margin) {
  const inner = style.indent === undefined ? "" : `\n${margin}${style.indent}`;
  for (const order of orders) {
    if (order.length === 0) {
      yield open + close;
      continue;
    }
    const end = style.indent === undefined ? "" : `\n${margin}`;
    for (const parts of product(order.map((item) => () => writeOne(item, margin + (style.indent ?? ""))))) {
      yield open + inner + parts.join(style.comma + inner) + end + close;
    }
  }
}

function* product(makers) {
  if (makers.length === 0) {
    yield [];
    return;
  }
  const [first, ...others] = makers;
  for (const head of first()) {
    for (const tail of product(others)) yield [head, ...tail];
  }
}

function* permutations(items) {
  if (items.length < 2) {
    yield items;
    return;
  }
  for (const [index, item] of items.entries()) {
    for (const rest of permutations(items.toSpliced(index, 1))) yield [item, ...rest];
  }
}
