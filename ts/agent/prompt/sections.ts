import type { Stretch } from "./match.js";

/** A part of a prompt that is moved as a whole: a paragraph of its template, or everything inside a tag of it. */
export interface Section {
  readonly stretches: readonly Stretch[];
}

/** Stands for a value while the template's own text is searched for borders. */
const VALUE = "\u0000";

/**
 * Divides a prompt at the blank lines of its template. Values are never divided here, nor what a tag of the template
 * encloses. A paragraph of text between two values introduces the second of them and stays with it.
 */
export function sectionsOf(stretches: readonly Stretch[]): Section[] {
  const skeleton = stretches.map(({ text, variable }) => (variable === undefined ? text : VALUE)).join("");
  const sections: Stretch[][] = [[]];
  let borders = bordersOf(skeleton);
  let offset = 0;
  for (const stretch of stretches) {
    const length = stretch.variable === undefined ? stretch.text.length : 1;
    let from = 0;
    while (stretch.variable === undefined && borders[0] !== undefined && borders[0] < offset + length) {
      const border = borders[0] - offset;
      add(sections.at(-1), stretch.text.slice(from, border));
      sections.push([]);
      from = border + 2;
      borders = borders.slice(1);
    }
    if (stretch.variable === undefined) add(sections.at(-1), stretch.text.slice(from));
    else sections.at(-1)?.push(stretch);
    offset += length;
  }
  return introduced(sections.filter((section) => section.length > 0)).map((parts) => ({ stretches: parts }));
}

function add(section: Stretch[] | undefined, text: string): void {
  if (text !== "") section?.push({ text });
}

/** Offsets of the blank lines outside of tags. A tag counts when it begins a line and a line begins with its end. */
function bordersOf(skeleton: string): number[] {
  const borders: number[] = [];
  const open: string[] = [];
  let offset = 0;
  for (const line of skeleton.split("\n")) {
    const [, closing = "", tag = ""] = /^<(\/?)(\w+)>/.exec(line) ?? [];
    if (closing !== "" && open.at(-1) === tag) open.pop();
    else if (tag !== "" && closing === "" && !line.includes(`</${tag}>`) && closes(skeleton, offset, tag)) {
      open.push(tag);
    }
    // The line that ends here is followed by an empty one.
    const end = offset + line.length;
    if (open.length === 0 && skeleton.startsWith("\n\n", end) && line !== "") borders.push(end);
    offset = end + 1;
  }
  return borders;
}

function closes(skeleton: string, from: number, tag: string): boolean {
  return skeleton.indexOf(`\n</${tag}>`, from) >= 0;
}

function introduced(sections: readonly Stretch[][]): Stretch[][] {
  const merged: Stretch[][] = [];
  let introduction: Stretch[] | undefined;
  for (const [index, section] of sections.entries()) {
    if (introducesNext(sections, index)) {
      introduction = section;
      continue;
    }
    merged.push(introduction === undefined ? section : [...introduction, { text: "\n\n" }, ...section]);
    introduction = undefined;
  }
  return merged;
}

function introducesNext(sections: readonly Stretch[][], index: number): boolean {
  const [before, section, after] = [sections[index - 1], sections[index], sections[index + 1]];
  if (before === undefined || section === undefined || after === undefined) return false;
  return hasValue(before) && !hasValue(section) && isValue(after);
}

function hasValue(section: readonly Stretch[]): boolean {
  return section.some(({ variable }) => variable !== undefined);
}

function isValue(section: readonly Stretch[]): boolean {
  return section.every(({ variable, text }) => variable !== undefined || text.trim() === "");
}
