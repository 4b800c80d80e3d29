import type { Slot, Wish } from "./slot.js";

/**
 * What a slot should use: what a switch chose, unless the settings or the remembered choice have come to name another
 * model since; otherwise what those name. undefined: nothing.
 */
export function wishOf(slot: Slot, named: string | undefined): Wish | undefined {
  const { choice } = slot;
  if (choice !== undefined) {
    if (named === choice.name) choice.named = named;
    // A remembered choice that cannot be read for a moment takes no model away.
    if (named === undefined || named === choice.named) return choice;
    slot.choice = undefined;
  }
  if (named === undefined) return undefined;
  return { name: named, how: { purpose: slot.name === "embedding" ? "embedding" : "text" } };
}
