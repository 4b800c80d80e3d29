import { basename } from "node:path";
import type { IAgentRuntime } from "@elizaos/core";
import { agentOf } from "../agent/agent.js";
import { padded } from "../agent/dimensions.js";
import type { EmbeddingSpec } from "../engine/engine.js";
import { LocalInferenceError, towardsEliza } from "../errors.js";
import { emitModelUsed } from "./model-used.js";
import { type EmbeddingRequest, readEmbeddingBatch, readEmbeddingRequest } from "./request/embedding.js";

type Handler<T> = (runtime: IAgentRuntime, params: unknown) => Promise<T>;

/** `TEXT_EMBEDDING`: one text, one vector of a size that elizaOS stores. */
const embed: Handler<number[]> = mapped(async (runtime, params) => {
  const request = readEmbeddingRequest(params);
  // elizaOS asks for the embedding of nothing to learn the dimensions, while the agent is starting.
  if (request.texts.length === 0) return probe(runtime);
  const [vector] = await embedTexts(runtime, "TEXT_EMBEDDING", request);
  if (vector === undefined) throw new LocalInferenceError("INTERNAL", "The embedding is missing.");
  return vector;
});

/** `TEXT_EMBEDDING_BATCH` of elizaOS 2: many texts, one vector for each. */
const embedBatch: Handler<number[][]> = mapped(async (runtime, params) =>
  embedTexts(runtime, "TEXT_EMBEDDING_BATCH", readEmbeddingBatch(params)),
);

export const embeddingHandlers: Readonly<Record<string, Handler<unknown>>> = {
  TEXT_EMBEDDING: embed,
  TEXT_EMBEDDING_BATCH: embedBatch,
};

/** A zero vector of the right size, from the file's header alone. */
async function probe(runtime: IAgentRuntime): Promise<number[]> {
  const agent = agentOf(runtime);
  const header = await agent.header(await agent.modelPath("embedding"));
  return new Array<number>(agent.vectors.answer(header.embeddingLength)).fill(0);
}

async function embedTexts(
  runtime: IAgentRuntime,
  type: string,
  { texts, signal }: EmbeddingRequest,
): Promise<number[][]> {
  if (texts.length === 0) return [];
  const agent = agentOf(runtime);
  const { config, engine } = agent;
  const work = async (spec: EmbeddingSpec) => {
    const header = await agent.header(spec.path);
    const shape = agent.vectors.shapeOf(basename(spec.path), header.embeddingLength);
    const result = await engine.embed(spec, texts, {
      truncate: config.embeddingTruncate,
      signal,
      ...(shape.kept < header.embeddingLength ? { dimensions: shape.kept } : {}),
    });
    return { value: { ...result, ...shape, model: basename(spec.path) } };
  };
  const { vectors, tokens, kept, stored, model } = await agent.active.use("embedding", work, signal);
  agent.vectors.madeBy(model);
  emitModelUsed(runtime, { type, model, prompt: texts[0] ?? "", tokens: { prompt: tokens, completion: 0 } });
  return vectors.map((vector) => {
    if (vector.length === kept) return padded(vector, stored);
    throw new LocalInferenceError(
      "MODEL_UNSUPPORTED",
      `The model returned ${vector.length} dimensions; its header says ${kept}.`,
    );
  });
}

function mapped<T>(handler: Handler<T>): Handler<T> {
  return async (runtime, params) => {
    try {
      return await handler(runtime, params);
    } catch (error) {
      throw towardsEliza(error);
    }
  };
}
