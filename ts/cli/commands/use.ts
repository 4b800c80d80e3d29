import { readSelection, type Selection, writeSelection } from "../../download/selection.js";
import { readModelHeader } from "../../engine/model.js";
import { invalidInput } from "../../errors.js";
import { type ActiveRole, ROLE_WORDS, SETTING_OF } from "../../roles.js";
import type { CliContext } from "../support/context.js";
import { requireInstalled } from "./installed.js";

export interface UseOptions {
  readonly role?: string;
  readonly clear?: boolean;
}

/** `use`: chooses the model for roles whose settings name none. */
export async function use(context: CliContext, id: string | undefined, options: UseOptions): Promise<void> {
  const { modelsDir } = context.config;
  const before = readSelection(modelsDir);
  const after = options.clear
    ? cleared(before, options.role)
    : await chosen(context, id, before, options.role);
  if (id !== undefined || options.clear) {
    await writeSelection(modelsDir, after);
    for (const role of Object.keys(after) as ActiveRole[]) {
      if (context.config.models[role] !== undefined) {
        context.note(
          `${SETTING_OF[role]} is set and outranks this choice; unset it to use the chosen model.`,
        );
      }
    }
  }
  context.result(after, (roles) => {
    const lines = Object.entries(roles).map(([role, model]) => `${role}: ${model}`);
    return lines.length === 0 ? "No model is chosen." : lines.join("\n");
  });
}

async function chosen(
  context: CliContext,
  id: string | undefined,
  before: Selection,
  role: string | undefined,
): Promise<Selection> {
  if (id === undefined) return before;
  const model = await requireInstalled(context, id);
  const { kind } = await readModelHeader(model.path);
  const wanted = role ?? (kind === "embedding" ? "embedding" : "text");
  if ((wanted === "embedding") !== (kind === "embedding")) {
    throw invalidInput(`${model.id} is ${kind === "embedding" ? "an embedding" : "a text"} model.`, {
      hint: `Type "eliza-local use ${model.id}" without --role, or name another model for ${wanted}.`,
    });
  }
  const roles = rolesOf(wanted);
  // One model for both text roles: each stands in for the other.
  if (wanted === "text") return { ...cleared(before, wanted), large: model.id };
  return { ...before, ...Object.fromEntries(roles.map((one) => [one, model.id])) };
}

function cleared(before: Selection, word: string | undefined): Selection {
  if (word === undefined) return {};
  const roles: readonly string[] = rolesOf(word);
  return Object.fromEntries(Object.entries(before).filter(([name]) => !roles.includes(name)));
}

function rolesOf(word: string): readonly ActiveRole[] {
  const roles = ROLE_WORDS.get(word);
  if (roles !== undefined) return roles;
  throw invalidInput(`${JSON.stringify(word)} is not a role.`, {
    hint: `Pass --role with one of ${[...ROLE_WORDS.keys()].join(", ")}.`,
  });
}
