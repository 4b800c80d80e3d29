// Texts of an exact number of tokens, cut from one corpus. No two begin alike, so that no engine can reuse a prefix.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const corpus = readFileSync(new URL("../corpus.txt", import.meta.url), "utf8");
const words = corpus.split(/\s+/).filter(Boolean);

/** One token in the vocabularies of the models measured here, whatever stands before it. */
const filler = "and";

/** `count` words of the corpus from word `start` on; after the last word it goes on with the first. */
function excerpt(start, count) {
  return Array.from({ length: count }, (_, index) => words[(start + index) % words.length]).join(" ");
}

/** The largest number of words from `start` on that has at most `tokens` tokens. */
async function wordsThatFit(countTokens, start, tokens) {
  let fits = 0;
  let tooMany = tokens + 1;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if ((await countTokens(excerpt(start, middle))) <= tokens) fits = middle;
    else tooMany = middle;
  }
  return fits;
}

/** A text of exactly `tokens` tokens that begins at word `start`. */
async function textOf(countTokens, start, tokens) {
  let text = excerpt(start, await wordsThatFit(countTokens, start, tokens));
  let count = await countTokens(text);
  while (count < tokens) {
    text = `${text} ${filler}`;
    count = await countTokens(text);
  }
  if (count !== tokens) throw new Error(`no text of exactly ${tokens} tokens begins at word ${start}`);
  return text;
}

/** Hands out texts, each from another place in the corpus, and remembers what it gave as one hash. */
export class Prompts {
  #countTokens;
  #hash = createHash("sha256");
  #next = 0;

  constructor(countTokens) {
    this.#countTokens = countTokens;
  }

  async take(tokens) {
    const text = await textOf(this.#countTokens, this.#next, tokens);
    // A step that shares no factor with the number of words visits every word before it returns to the first.
    this.#next = (this.#next + 7) % words.length;
    this.#hash.update(text).update("\0");
    return text;
  }

  async takeMany(count, tokens) {
    const texts = [];
    for (let index = 0; index < count; index += 1) texts.push(await this.take(tokens));
    return texts;
  }

  /** Equal for two engines that were given the same texts. */
  get digest() {
    return this.#hash.copy().digest("hex").slice(0, 16);
  }
}
