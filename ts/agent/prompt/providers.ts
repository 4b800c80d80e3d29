import type { Block } from "./blocks.js";
import { conversationBlocks } from "./conversation.js";
import { type Drawn, undrawn } from "./drawn.js";
import { PROVIDER_CHANGES } from "./known.js";
import { lengthAt } from "./match.js";
import type { MessageState, ProviderResult } from "./state.js";
import type { Watch } from "./watch.js";

/** What the blocks of one agent are judged and fixed by. */
export interface Memory {
  readonly drawn: Drawn;
  readonly watch: Watch;
}

/**
 * Takes the texts of providers apart, which elizaOS joins with line breaks. undefined when something else stands among
 * them.
 */
export function providerBlocks(
  text: string,
  state: MessageState,
  room: string,
  { drawn, watch }: Memory,
): Block[] | undefined {
  const blocks: Block[] = [];
  const left = new Map(state.results);
  let at = 0;
  while (at < text.length) {
    const found = resultAt(text, at, left);
    if (found === undefined) return undefined;
    const { result, length } = found;
    left.delete(result.name);
    const own = text.slice(at, at + length);
    if (result.name === "RECENT_MESSAGES") blocks.push(...conversationBlocks(drawn, result, own));
    else {
      const fixed = undrawn(drawn, result, state, own);
      const changes = watch.judge(room, result.name, fixed, PROVIDER_CHANGES[result.name]);
      blocks.push({ name: result.name, text: fixed, changes });
    }
    at += length;
    if (at < text.length && text[at] !== "\n") return undefined;
    at += 1;
  }
  return blocks;
}

/** The provider whose text stands at an offset; of two, the longer one. */
function resultAt(text: string, at: number, results: ReadonlyMap<string, ProviderResult>) {
  let found: { result: ProviderResult; length: number } | undefined;
  for (const result of results.values()) {
    if (result.text.trim() === "") continue;
    const length = lengthAt(text, at, result.text);
    if (length !== undefined && length > (found?.length ?? 0)) found = { result, length };
  }
  return found;
}
