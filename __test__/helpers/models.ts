import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modelsDir } from "../../scripts/lib/paths.mjs";

/** The real models that live tests use. */
export const MODELS = {
  chat: "SmolLM2-135M-Instruct.Q4_1.gguf",
  embedding: "all-MiniLM-L6-v2-f16.gguf",
  tiny: "tiny.gguf",
} as const;

/** Path of a real model; a missing one fails the test that asks for it. */
export function modelPath(model: keyof typeof MODELS): string {
  const path = join(modelsDir(), MODELS[model]);
  if (!existsSync(path)) throw new Error(`${path} is missing. Run: npm run models`);
  return path;
}

/** A temporary directory with empty files of these names; the fake addon does not read them. */
export async function modelsDirectory(
  ...names: string[]
): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "local-inference-models-"));
  for (const name of names) await writeFile(join(path, name), "");
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
