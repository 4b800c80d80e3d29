const PART = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)$/i;

/** Which part of a split model a file is, from its name. */
export interface SplitPart {
  readonly stem: string;
  /** From 1. */
  readonly index: number;
  readonly count: number;
}

export function splitPart(file: string): SplitPart | undefined {
  const match = PART.exec(file);
  if (match === null) return undefined;
  const [, stem = "", index, count] = match;
  const part = { stem, index: Number(index), count: Number(count) };
  return part.index >= 1 && part.index <= part.count ? part : undefined;
}

/** The names of all parts of the model that `file` is a part of, in order; a file that is whole stands alone. */
export function partsOf(file: string): string[] {
  const part = splitPart(file);
  if (part === undefined) return [file];
  const count = String(part.count).padStart(5, "0");
  return Array.from({ length: part.count }, (_, index) => {
    return `${part.stem}-${String(index + 1).padStart(5, "0")}-of-${count}.gguf`;
  });
}

/** A name without the part number and without `.gguf`. */
export function modelName(file: string): string {
  return splitPart(file)?.stem ?? file.replace(/\.gguf$/i, "");
}

export function isGguf(name: string): boolean {
  return /\.gguf$/i.test(name);
}
