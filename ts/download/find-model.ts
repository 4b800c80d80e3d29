import { hubReference, referenceText } from "./reference.js";
import type { InstalledModel } from "./registry.js";

/**
 * The model that a text means: its id, a catalog id, a reference to the hub, a path, or a name that only one model of its
 * origin has.
 */
export function findModel(models: readonly InstalledModel[], id: string): InstalledModel | undefined {
  const reference = quietReference(id);
  const tests: ((model: InstalledModel) => boolean)[] = [
    (model) => model.id === id || model.path === id,
    (model) => model.catalogId === id,
    (model) => reference !== undefined && withoutRevision(model.id) === withoutRevision(reference),
    (model) => model.id.replace(/^[a-z-]+:/, "") === id || model.name === id,
  ];
  for (const test of tests) {
    const found = models.filter(test);
    const [first] = found;
    const sameKind = found.filter(({ origin }) => origin === first?.origin);
    if (first !== undefined && sameKind.length === 1) return first;
  }
  return undefined;
}

function quietReference(text: string): string | undefined {
  try {
    const reference = hubReference(text);
    return reference === undefined ? undefined : referenceText(reference);
  } catch {
    return undefined;
  }
}

function withoutRevision(id: string): string {
  return id.replace(/^(hf:[^/]+\/[^/@]+)@[^/]+/, "$1");
}
