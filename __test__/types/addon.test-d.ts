// What this package declares of the addon's structs, held to the addon's own declarations by the compiler
// (`npm run typecheck`). Nothing here runs. Structs that are only passed on from index.d.ts are not repeated in ts/, so there
// is nothing to compare.
import { expectTypeOf } from "vitest";
import type * as Addon from "../../index.js";
import type { EmbedderOptions, NativeEmbedOptions } from "../../ts/engine/embedding/embedder.js";
import type { LoadOptions } from "../../ts/engine/load-options.js";
import type { TokenOptions } from "../../ts/engine/model.js";
import type { ContextOptions, StateFolder } from "../../ts/engine/text/context-options.js";
import type {
  ChatInput,
  ContextFull,
  FinishReason,
  Lane,
  Piece,
  Sampling,
  Sharing,
} from "../../ts/engine/text/types.js";
import type { LogLevel } from "../../ts/support/log.js";

// Options.
expectTypeOf<LoadOptions>().toEqualTypeOf<Addon.LoadOptions>();
expectTypeOf<ContextOptions>().toEqualTypeOf<Addon.ContextOptions>();
expectTypeOf<StateFolder>().toEqualTypeOf<Addon.StateFolder>();
expectTypeOf<EmbedderOptions>().toEqualTypeOf<Addon.EmbedderOptions>();
expectTypeOf<NativeEmbedOptions>().toEqualTypeOf<Addon.EmbedOptions>();
expectTypeOf<TokenOptions>().toEqualTypeOf<Addon.TokenizeOptions>();
expectTypeOf<ChatInput>().toEqualTypeOf<Addon.ChatInput>();

// A generation: the sampling options, how it shares its context, and what the chat template or the raw prompt makes of the
// rest of a request.
type Shared = Omit<Sharing, "contextFull" | "reserveTokens"> & {
  contextFull?: Exclude<ContextFull, "truncate">;
};
expectTypeOf<Pick<Addon.GenerateInput, keyof Sampling>>().toEqualTypeOf<Sampling>();
expectTypeOf<Pick<Addon.GenerateInput, keyof Shared>>().toEqualTypeOf<Pick<Shared, keyof Shared>>();
expectTypeOf<Exclude<keyof Addon.GenerateInput, keyof Sampling | keyof Shared>>().toEqualTypeOf<
  "prompt" | "promptTokens" | "chat" | "prefill" | "parseSpecial" | "stops" | "constraint" | "prewarm"
>();

// What comes back.
expectTypeOf<Addon.Finish["finishReason"]>().toEqualTypeOf<FinishReason>();
expectTypeOf<Omit<Piece, "toolCalls">>().toEqualTypeOf<Omit<Addon.Chunk, "done">>();
expectTypeOf<Addon.LogRecord["level"]>().toEqualTypeOf<LogLevel>();
expectTypeOf<NonNullable<Addon.GenerateInput["lane"]>>().toEqualTypeOf<Lane>();
