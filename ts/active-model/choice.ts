import { invalidInput } from "../errors.js";
import { ACTIVE_ROLES, type ActiveRole, KIND_OF, type Kind, rolesOfKind } from "../roles.js";
import type { ResolvedLoad } from "./load-types.js";
import type { LoadOverrides } from "./overrides.js";

/** A model that a role should use, and how it is loaded. */
export interface Choice {
  /** As a setting names a model. */
  readonly name: string;
  readonly how: { readonly kind: Kind; readonly overrides?: LoadOverrides };
}

/** What a switch chose for a role. */
export interface SwitchChoice extends Choice {
  /** What the settings or the remembered choice named at that time: another name since then is a newer choice. */
  configured: string | undefined;
}

/**
 * What a model for these roles must be loaded as; undefined: what it is made for.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for roles of different kinds, whose models are loaded in different ways.
 */
export function kindOfRoles(roles: readonly ActiveRole[] | undefined): Kind | undefined {
  const [kind, ...others] = new Set(roles?.map((role) => KIND_OF[role]));
  if (others.length === 0) return kind;
  throw invalidInput("Text and embedding models are switched separately.", {
    hint: "Make one switch for small and large, and another one for embedding.",
  });
}

/** The roles that were asked for, or those that a load serves. */
export function rolesFor({ spec }: ResolvedLoad, roles: readonly ActiveRole[] = []): readonly ActiveRole[] {
  return roles.length > 0 ? ACTIVE_ROLES.filter((role) => roles.includes(role)) : rolesOfKind(spec.kind);
}
