import { type Role, readSelection, type Selection, writeSelection } from "../../download/selection.js";
import { readModelHeader } from "../../engine/model.js";
import { invalidInput } from "../../errors.js";
import type { CliContext } from "../support/context.js";
import { requireInstalled } from "./installed.js";

const SETTING_OF = {
  small: "LOCAL_SMALL_MODEL",
  large: "LOCAL_LARGE_MODEL",
  embedding: "LOCAL_EMBEDDING_MODEL",
} as const;
const KEY_OF = { small: "smallModel", large: "largeModel", embedding: "embeddingModel" } as const;

export interface UseOptions {
  readonly role?: string;
  readonly clear?: boolean;
}

/** `use`: chooses the model of the roles whose settings name none. */
export async function use(context: CliContext, id: string | undefined, options: UseOptions): Promise<void> {
  const { modelsDir } = context.config;
  const before = readSelection(modelsDir);
  const after = options.clear
    ? cleared(before, options.role)
    : await chosen(context, id, before, options.role);
  if (id !== undefined || options.clear) {
    await writeSelection(modelsDir, after);
    for (const role of Object.keys(after) as Role[]) {
      if (context.config[KEY_OF[role]] !== undefined) {
        context.note(`${SETTING_OF[role]} is set and comes first; unset it to use this choice.`);
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
      hint: `Leave out --role, or choose another model for ${wanted}.`,
    });
  }
  if (wanted !== "text") return { ...before, [roleOf(wanted)]: model.id };
  // One model for both: small stands in for large and the other way round.
  const { small: _, ...rest } = before;
  return { ...rest, large: model.id };
}

function cleared(before: Selection, role: string | undefined): Selection {
  if (role === undefined) return {};
  const gone = role === "text" ? ["small", "large"] : [roleOf(role)];
  return Object.fromEntries(Object.entries(before).filter(([name]) => !gone.includes(name)));
}

function roleOf(word: string): Role {
  if (word === "small" || word === "large" || word === "embedding") return word;
  throw invalidInput(`${JSON.stringify(word)} is no role.`, {
    hint: "Roles are text, small, large and embedding.",
  });
}
