import { readSelection } from "../../download/selection.js";
import {
  catalogLines,
  type Fitter,
  fitterOf,
  installedLine,
  type RecommendationView,
  recommendationView,
} from "../../views/models.js";
import { type CliContext, describe } from "../support/context.js";
import { size, table } from "../support/output.js";

/** `models`: lists the catalog with what fits this machine, and the installed models. */
export async function models(context: CliContext, options: { installed?: boolean }): Promise<void> {
  const installed = await context.store.installed();
  const recommendation = options.installed
    ? undefined
    : await recommendationView(context.config).catch(() => undefined);
  const value = {
    modelsDir: context.config.modelsDir,
    catalog: options.installed ? [] : catalogLines(installed, await fitter(context)),
    installed: installed.map(installedLine),
    ...(recommendation === undefined ? {} : { recommendation }),
    active: readSelection(context.config.modelsDir),
  };
  context.result(value, ({ catalog, installed: own }) => {
    const parts: string[] = [];
    if (!options.installed) parts.push(catalogTable(catalog));
    if (recommendation !== undefined) parts.push(recommended(recommendation));
    parts.push(own.length === 0 ? `No model is installed in ${value.modelsDir}.` : installedTable(own));
    return parts.join("\n\n");
  });
}

/** Lists the catalog even where the addon cannot be loaded. */
async function fitter(context: CliContext): Promise<Fitter | undefined> {
  try {
    return await fitterOf(context.config);
  } catch (error) {
    context.note(`Cannot check what fits this machine: ${describe(error).message}`);
    return undefined;
  }
}

const FIT_WORDS = { fits: "fits", tight: "tight", no: "too large" } as const;

function catalogTable(lines: ReturnType<typeof catalogLines>): string {
  const rows = lines.map((line) => [
    line.id,
    line.kind,
    line.quantization,
    line.bytes === undefined ? "?" : size(line.bytes),
    String(line.contextLength),
    line.fit === undefined ? "?" : FIT_WORDS[line.fit.verdict],
    line.licence ?? "see page",
    line.installed ? "installed" : line.published ? "" : "not published",
  ]);
  return table(["CATALOG", "KIND", "TYPE", "SIZE", "CONTEXT", "HERE", "LICENCE", "STATE"], rows);
}

function recommended({ chat, embedding }: RecommendationView): string {
  const lines = [chat, embedding].filter((line) => line !== undefined);
  if (lines.length === 0) return "No model of the catalog fits this machine.";
  return lines.map(({ id, reason }) => `Recommended here: ${id} (${reason})`).join("\n");
}

function installedTable(lines: readonly ReturnType<typeof installedLine>[]): string {
  const rows = lines.map((line) => [
    line.id,
    size(line.bytes),
    line.origin,
    line.companions.length === 0 ? "" : `with ${line.companions.join(", ")}`,
  ]);
  return table(["INSTALLED", "SIZE", "FROM", ""], rows);
}
