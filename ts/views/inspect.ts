import { readModelHeader } from "../engine/model.js";
import { callNative, loadNative, type ModelHeader, type ModelShape } from "../native/addon.js";

/** What a token, and a context as such, takes in the KV cache. */
export interface KvCost {
  readonly type: string;
  /** Bytes for 1,000 tokens in the layers that see the whole context. */
  readonly bytesPerThousandTokens: number;
  /** Bytes of the layers that see a window only, and of recurrent ones; the same for every long context. */
  readonly fixedBytes: number;
}

export interface Inspection {
  readonly header: ModelHeader;
  readonly kv: readonly KvCost[];
}

/** Bytes of one element, block scales counted. */
const ELEMENT_BYTES = { f16: 2, q8_0: 34 / 32, q4_0: 18 / 32 } as const;

/** Reads a GGUF's header; no weights. @throws LocalInferenceError `MODEL_NOT_FOUND`, `MODEL_INVALID`, `MODEL_UNSUPPORTED`. */
export async function inspectFile(path: string): Promise<Inspection> {
  const header = await readModelHeader(path);
  const { chatTemplate: _, ...facts } = header;
  const shape = header.kind === "chat" ? await readShape(path) : undefined;
  return { header: { ...facts, ...templateFacts(header) }, kv: shape === undefined ? [] : kvCosts(shape) };
}

async function readShape(path: string): Promise<ModelShape> {
  const addon = await loadNative();
  return callNative(() => addon.readShape(path));
}

function kvCosts(shape: ModelShape): KvCost[] {
  return Object.entries(ELEMENT_BYTES).map(([type, bytes]) => {
    let growing = 0;
    let fixed = shape.stateBytes;
    for (const { count, keyElements, valueElements, window } of shape.layers) {
      const perToken = count * (keyElements + valueElements) * bytes;
      if (window === undefined) growing += perToken;
      else fixed += perToken * window;
    }
    return { type, bytesPerThousandTokens: Math.round(growing * 1000), fixedBytes: Math.round(fixed) };
  });
}

/** A template is pages long: only its length is shown. */
function templateFacts({ chatTemplate }: ModelHeader): { chatTemplate?: string } {
  return chatTemplate === undefined ? {} : { chatTemplate: `${chatTemplate.length} characters` };
}
