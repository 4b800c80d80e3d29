interface Segment {
  readonly content: string;
  /** The same in every call of its kind. */
  readonly stable: boolean;
}

/**
 * The prompt with its stable segments in front, so that the next prompt of its kind starts from what is cached. Within
 * either kind the order stays. Segments that are not those of the prompt are ignored.
 */
export function stableFirst(prompt: string, promptSegments: unknown): string {
  const segments = segmentsOf(promptSegments);
  if (segments?.map(({ content }) => content).join("") !== prompt) return prompt;
  const stable = segments.filter((segment) => segment.stable);
  const variable = segments.filter((segment) => !segment.stable);
  if (stable.length === 0 || variable.length === 0) return prompt;
  return joined([
    joined(stable.map(({ content }) => content)),
    variable.map(({ content }) => content).join(""),
  ]);
}

/** What stood between two stable segments was a variable one, often nothing but the blank line that kept them apart. */
function joined(texts: readonly string[]): string {
  return texts.reduce((text, next) =>
    /\n$/.test(text) || /^\n/.test(next) ? text + next : `${text}\n\n${next}`,
  );
}

function segmentsOf(value: unknown): readonly Segment[] | undefined {
  if (!Array.isArray(value) || !value.every(isSegment)) return undefined;
  return value;
}

function isSegment(value: unknown): value is Segment {
  if (typeof value !== "object" || value === null) return false;
  const { content, stable } = value as Partial<Record<keyof Segment, unknown>>;
  return typeof content === "string" && typeof stable === "boolean";
}
