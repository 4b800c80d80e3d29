// Parts of the built package that it does not export.
import { fromRoot } from "./paths.mjs";

/** `dist/` modules by their path without the extension, as one object of everything they export. */
export async function builtParts(...modules) {
  const parts = await Promise.all(modules.map((name) => import(fromRoot("dist", `${name}.js`))));
  return Object.assign({}, ...parts);
}
