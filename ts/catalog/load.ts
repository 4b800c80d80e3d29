import { readFileSync } from "node:fs";
import type { z } from "zod";
import { LocalInferenceError } from "../errors.js";
import { companionRole } from "../roles.js";
import { type CatalogEntry, catalogSchema, type Recommendations, recommendationsSchema } from "./schema.js";

const FILES = ["tiers.json", "models.json"] as const;

/** The models this package knows by name. */
export class Catalog {
  readonly entries: readonly CatalogEntry[];
  readonly #byId: ReadonlyMap<string, CatalogEntry>;

  constructor(entries: readonly CatalogEntry[]) {
    this.entries = entries;
    this.#byId = new Map(entries.map((entry) => [entry.id, entry]));
    if (this.#byId.size < entries.length) {
      throw new LocalInferenceError("INTERNAL", "Two models of the catalog have the same id.");
    }
  }

  /** The entry of an id, in any case. */
  find(id: string): CatalogEntry | undefined {
    return this.#byId.get(id.toLowerCase());
  }

  /** The Eliza-1 tiers, smallest first. */
  get tiers(): readonly CatalogEntry[] {
    return this.entries.filter((entry) => entry.tier);
  }
}

let loaded: Catalog | undefined;
let recommended: Recommendations | undefined;

/** The catalog of the package, read on the first call. */
export function catalog(): Catalog {
  loaded ??= new Catalog(FILES.flatMap(readFile));
  return loaded;
}

/** Which models of the catalog are recommended, read on the first call. */
export function recommendations(): Recommendations {
  const name = "recommendations.json";
  recommended ??= parseAs(recommendationsSchema, JSON.parse(textOf(name)), name);
  return recommended;
}

function readFile(name: string): readonly CatalogEntry[] {
  return parseCatalog(textOf(name), name);
}

function textOf(name: string): string {
  return readFileSync(new URL(`../../catalog/${name}`, import.meta.url), "utf8");
}

/** @throws LocalInferenceError `INTERNAL` that names what is wrong in which file. */
export function parseCatalog(text: string, name: string): readonly CatalogEntry[] {
  return parseAs(catalogSchema, withCurrentRoles(JSON.parse(text)), name).models;
}

function parseAs<T>(schema: z.ZodType<T>, content: unknown, name: string): T {
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new LocalInferenceError("INTERNAL", `The catalog file ${name} is not valid: ${problems.join("; ")}.`);
}

/** Catalogs of earlier versions name some companions differently. */
function withCurrentRoles(content: unknown): unknown {
  const { models, ...rest } = (content ?? {}) as { models?: unknown };
  if (!Array.isArray(models)) return content;
  const renamed = models.map((model) => {
    if (typeof model?.companions !== "object" || model.companions === null) return model;
    const companions = Object.entries(model.companions).map(([word, file]) => [
      companionRole(word) ?? word,
      file,
    ]);
    return { ...model, companions: Object.fromEntries(companions) };
  });
  return { ...rest, models: renamed };
}
