import { resolve } from "node:path";
import { sizeOf } from "../../download/files.js";
import { type Inspection, inspectFile } from "../../views/inspect.js";
import type { CliContext } from "../support/context.js";
import { size } from "../support/output.js";
import { requireInstalled } from "./installed.js";

/** `inspect`: what a GGUF says about itself, and what its KV cache takes. */
export async function inspect(context: CliContext, file: string): Promise<void> {
  const path = resolve(file);
  const found = (await sizeOf(path)) === undefined ? (await requireInstalled(context, file)).path : path;
  context.result(await inspectFile(found), shown);
}

function shown({ header, kv }: Inspection): string {
  const lines: [string, string | number | undefined][] = [
    ["file", header.path],
    ["parts", header.files.length > 1 ? header.files.length : undefined],
    ["name", header.name],
    ["kind", header.kind],
    ["architecture", header.architecture],
    ["size", size(header.fileBytes)],
    ["weights", `${size(header.weightBytes)}, ${header.quantization}`],
    ["parameters", header.parameterCount.toLocaleString("en-US")],
    ["context length", header.contextLength],
    ["layers", header.blockCount],
    ["embedding length", header.embeddingLength],
    ["vocabulary", `${header.vocabularySize} (${header.tokenizerModel ?? "no tokenizer"})`],
    ["sliding window", header.slidingWindow],
    ["pooling", header.pooling],
    ["chat template", header.chatTemplate ?? (header.kind === "chat" ? "none" : undefined)],
    ...kv.map(({ type, bytesPerThousandTokens, fixedBytes }): [string, string] => [
      `KV cache, ${type}`,
      `${size(bytesPerThousandTokens)} per 1,000 tokens${fixedBytes > 0 ? ` and ${size(fixedBytes)} besides` : ""}`,
    ]),
  ];
  return lines
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name.padEnd(18)}${value}`)
    .join("\n");
}
