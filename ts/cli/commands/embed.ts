import { invalidInput } from "../../errors.js";
import type { CliContext } from "../support/context.js";
import { piped } from "./chat.js";

/** `embed`: a vector for each text given, or for each line piped in. */
export async function embed(
  context: CliContext,
  texts: readonly string[],
  options: { model?: string },
): Promise<void> {
  const given = texts.length > 0 || context.io.in.isTTY ? texts : lines(await piped(context));
  if (given.length === 0)
    throw invalidInput("There is no text to embed.", {
      hint: 'Type "eliza-local embed TEXT", or pipe lines in.',
    });
  const agent = await context.agent({ LOCAL_EMBEDDING_MODEL: options.model });
  try {
    const { spec } = await agent.active.current("embedding");
    const { vectors, tokens } = await agent.engine.embed(spec, given, {
      truncate: context.config.embeddingTruncate,
      signal: context.signal,
    });
    const embeddings = vectors.map((vector) => Array.from(vector));
    const value = { model: spec.path, dimensions: embeddings[0]?.length ?? 0, tokens, embeddings };
    context.result(value, () => embeddings.map((vector) => JSON.stringify(vector)).join("\n"));
  } finally {
    await agent.close();
  }
}

function lines(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}
