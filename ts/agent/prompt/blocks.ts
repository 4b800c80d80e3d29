/**
 * With what a stretch of a prompt changes, the most lasting first: the order in which prompts are laid out. Which actions an
 * agent has can depend on the room, so they follow what is the same everywhere.
 */
export const CHANGES = ["template", "agent", "actions", "room", "conversation", "turn"] as const;
export type Changes = (typeof CHANGES)[number];

/** A stretch of a prompt that is moved as a whole. */
export interface Block {
  /** A provider's name, or what its variables are called. */
  readonly name: string;
  readonly text: string;
  readonly changes: Changes;
}

/** Blocks in the order in which they change; those that change alike keep their order. */
export function inOrder(blocks: readonly Block[]): Block[] {
  return CHANGES.flatMap((changes) => blocks.filter((block) => block.changes === changes));
}

/** Whether a block is the same in every prompt of a template, as far as one can tell. */
export function isLasting({ changes }: Block): boolean {
  return CHANGES.indexOf(changes) < CHANGES.indexOf("room");
}

/** The one of several that changes most often. */
export function mostOften(all: readonly Changes[]): Changes {
  return CHANGES[Math.max(0, ...all.map((one) => CHANGES.indexOf(one)))] ?? "template";
}
