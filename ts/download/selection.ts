import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeAtomically } from "./files.js";

/** What a model is used for. */
export const ROLES = ["small", "large", "embedding"] as const;
export type Role = (typeof ROLES)[number];

const selection = z.object({
  version: z.literal(1),
  small: z.string().min(1).optional(),
  large: z.string().min(1).optional(),
  embedding: z.string().min(1).optional(),
});

/** The models that were chosen for the roles whose settings name none, as `pull` and `findInstalled` name models. */
export type Selection = Partial<Record<Role, string>>;

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

/** Small and large stand in for each other, as their settings do. */
export function selectedModel({ small, large, embedding }: Selection, role: Role): string | undefined {
  if (role === "embedding") return embedding;
  return role === "small" ? (small ?? large) : (large ?? small);
}

function fileOf(modelsDir: string): string {
  return join(modelsDir, "active.json");
}
