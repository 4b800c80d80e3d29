import type { Chunk, GenerateInput, Usage } from "../../ts/native/addon.js";
import type { FakePiece, Script } from "./fake-script.js";

export const PROMPT_TOKENS = 7;
export const CACHED_TOKENS = 3;

/** Plays the pieces of a script; cancelling ends it the way the engine does, with a last chunk that says so. */
export class FakeStream {
  readonly #pieces: readonly FakePiece[];
  readonly #script: Script;
  #read = 0;
  #tokens = 0;
  #ended = false;
  #wake: (() => void) | undefined;
  #held = true;
  #ready: FakePiece | undefined;
  cancelled = false;

  constructor(script: Script, input: GenerateInput) {
    const pieces = script.pieces ?? [{ text: "Hello" }, { text: " there" }];
    this.#pieces = typeof pieces === "function" ? pieces(input) : pieces;
    this.#script = script;
    this.#ready = script.latePiece;
  }

  /** Pieces that were read. */
  get read(): number {
    return this.#read;
  }

  async next(): Promise<Chunk | null> {
    if (this.#ended) return null;
    await this.#gate();
    if (this.cancelled) return this.#late() ?? this.#end("cancelled");
    const piece = this.#pieces[this.#read];
    if (piece === undefined) {
      if (this.#script.streamError !== undefined) throw new Error(this.#script.streamError);
      return this.#end(this.#script.finishReason ?? "stop");
    }
    this.#read += 1;
    return this.#chunk(piece);
  }

  cancel(): void {
    this.cancelled = true;
    this.#wake?.();
  }

  release(): void {
    this.#held = false;
    this.#wake?.();
  }

  #chunk({ text = "", reasoning = "", tokens = 1 }: FakePiece): Chunk {
    this.#tokens += tokens;
    return { text, reasoning, tokens };
  }

  #late(): Chunk | undefined {
    const piece = this.#ready;
    this.#ready = undefined;
    return piece && this.#chunk(piece);
  }

  async #gate(): Promise<void> {
    const holds = this.#held && this.#read === this.#script.holdAfter;
    if (!holds || this.cancelled) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  #end(finishReason: "stop" | "length" | "context" | "cancelled"): Chunk {
    this.#ended = true;
    return { text: "", reasoning: "", tokens: 0, done: { finishReason, usage: usage(this.#tokens) } };
  }
}

function usage(completionTokens: number): Usage {
  return {
    promptTokens: PROMPT_TOKENS,
    cachedPromptTokens: CACHED_TOKENS,
    completionTokens,
    reasoningTokens: 0,
    forcedTokens: 0,
    refusedTokens: 0,
    draftedTokens: 0,
    acceptedTokens: 0,
    draftWindows: [],
    plainTokensPerSecond: 0,
    speculativeSpeedUp: 0,
    queueMs: 0,
    prefillMs: 1,
    timeToFirstTokenMs: 1,
    decodeMs: 1,
    prefillTokensPerSecond: 1,
    decodeTokensPerSecond: 1,
    seed: 0,
  };
}
