import type { Kind } from "../roles.js";
import { EMBEDDING } from "./embedding-resident.js";
import type { ModelKind, Resident, Weights } from "./resident.js";
import type { AnySpec, ModelSpec } from "./specs.js";
import { TEXT } from "./text-resident.js";

/**
 * The kinds of models. A new one is a file beside `text-resident.ts` that implements {@link Resident} and a row here; the
 * engine, the arbiter and the switching of models work with it as it is. `ts/roles.ts` says which role uses it.
 */
export const KINDS = { text: TEXT, embedding: EMBEDDING } satisfies Record<Kind, unknown>;

/** What requests with a spec use. */
export type ResidentOf<S extends AnySpec> = ReturnType<(typeof KINDS)[S["kind"]]["resident"]>;

/** A kind without the types that only its own file knows. */
export type AnyKind = ModelKind<ModelSpec, Weights, Resident<ModelSpec>>;

export function kindOf({ kind }: ModelSpec): AnyKind {
  return KINDS[kind] as unknown as AnyKind;
}
