import { LocalInferenceError } from "../errors.js";
import { log } from "../support/log.js";
import { type VectorShape, vectorShape } from "./dimensions.js";

export interface StoredVectorsOptions {
  /** LOCAL_EMBEDDING_DIMENSIONS. */
  readonly wanted: number | undefined;
  /** EMBEDDING_DIMENSION of elizaOS, which then does not ask. */
  readonly given: number | undefined;
}

/**
 * The length of the vectors that elizaOS stores for an agent. elizaOS asks for it once, when the agent starts, and
 * stores and finds vectors of this length only from then on: another model must give the same.
 */
export class StoredVectors {
  readonly #options: StoredVectorsOptions;
  #answered: number | undefined;
  #model: string | undefined;
  #isTaken: () => boolean = () => false;

  constructor(options: StoredVectorsOptions) {
    this.#options = options;
  }

  /** @param isTaken Whether another plugin makes this agent's embeddings. */
  whenTaken(isTaken: () => boolean): void {
    this.#isTaken = isTaken;
  }

  /** The answer to the question of elizaOS: the same one as long as the agent runs. */
  answer(own: number): number {
    this.#answered ??= vectorShape(own, this.#options.wanted).stored;
    return this.#answered;
  }

  /**
   * How the vectors of a model are stored: padded with zeros, which leaves cosines as they are, never cut.
   *
   * @throws LocalInferenceError `UNSUPPORTED` for a model whose vectors are longer than those that are stored.
   */
  shapeOf(model: string, own: number): VectorShape {
    const { wanted, given } = this.#options;
    const fixed = this.#answered ?? given;
    if (fixed === undefined) return vectorShape(own, wanted);
    const kept = Math.min(own, wanted ?? own);
    if (kept <= fixed) return { kept, stored: fixed };
    throw new LocalInferenceError(
      "UNSUPPORTED",
      `${model} gives vectors of ${kept} dimensions, and this agent stores ${fixed}.`,
      {
        hint:
          `Use a model of at most ${fixed} dimensions; or set LOCAL_EMBEDDING_DIMENSIONS to ${fixed} if the model is ` +
          "trained to be shortened; or restart the agent with this model, and its memories are no longer found by meaning.",
      },
    );
  }

  /** @throws LocalInferenceError `UNSUPPORTED` for a model that cannot take over while the agent runs. */
  admit(model: string, own: number): void {
    if (this.#isTaken()) {
      throw new LocalInferenceError("UNSUPPORTED", "Another plugin makes this agent's embeddings.", {
        hint: `Restart the agent to use ${model} instead; its memories are then no longer found by meaning.`,
      });
    }
    this.shapeOf(model, own);
  }

  /** Notes which model made vectors; vectors of two models do not compare. */
  madeBy(model: string): void {
    if (this.#model !== undefined && this.#model !== model) {
      log(
        "warn",
        `${model} makes the embeddings now: memories stored with ${this.#model} are hardly found by meaning.`,
      );
    }
    this.#model = model;
  }
}

/** EMBEDDING_DIMENSION as elizaOS reads it: a number above zero, or nothing. */
export function givenDimension(setting: unknown): number | undefined {
  const value = Number(setting);
  return value > 0 ? value : undefined;
}
