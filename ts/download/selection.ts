import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ACTIVE_ROLES, type ActiveRole } from "../roles.js";
import { writeAtomically } from "./files.js";

const selection = z.object({
  version: z.literal(1),
  ...(Object.fromEntries(ACTIVE_ROLES.map((role) => [role, z.string().min(1).optional()])) as Record<
    ActiveRole,
    z.ZodOptional<z.ZodString>
  >),
});

/** The models that were chosen for the roles whose settings name none, as `pull` and `findInstalled` name models. */
export type Selection = Partial<Record<ActiveRole, string>>;

/** Read at every use, because another process may change it; a file that cannot be read counts as empty. */
export function readSelection(modelsDir: string): Selection {
  try {
    const { version: _, ...chosen } = selection.parse(JSON.parse(readFileSync(fileOf(modelsDir), "utf8")));
    return chosen as Selection;
  } catch {
    return {};
  }
}

export async function writeSelection(modelsDir: string, chosen: Selection): Promise<void> {
  mkdirSync(modelsDir, { recursive: true });
  await writeAtomically(fileOf(modelsDir), `${JSON.stringify({ version: 1, ...chosen }, undefined, 2)}\n`);
}

function fileOf(modelsDir: string): string {
  return join(modelsDir, "active.json");
}
