import { createInterface } from "node:readline/promises";
import type { InstalledModel } from "../../download/registry.js";
import type { FileState, Verification } from "../../download/verify.js";
import { invalidInput, LocalInferenceError } from "../../errors.js";
import { installedLine } from "../../views/models.js";
import type { CliContext } from "../support/context.js";
import { size } from "../support/output.js";
import { progressOn, SILENT } from "../support/progress.js";

/** @throws LocalInferenceError `MODEL_NOT_FOUND` with the commands that list and fetch models. */
export async function requireInstalled(context: CliContext, id: string): Promise<InstalledModel> {
  const model = await context.store.findInstalled(id);
  if (model !== undefined) return model;
  throw new LocalInferenceError("MODEL_NOT_FOUND", `${id} is not installed.`, {
    hint: 'Type "eliza-local models --installed" to list what is installed, or "eliza-local pull NAME" to fetch a model.',
  });
}

/** `rm`: deletes a model that belongs to the models folder. */
export async function remove(
  context: CliContext,
  id: string,
  options: { yes?: boolean; dryRun?: boolean },
): Promise<void> {
  const model = await requireInstalled(context, id);
  const removal = await context.store.removal(model);
  const { files, bytes } = removal;
  const value = { model: installedLine(model), files, freedBytes: bytes, removed: options.dryRun !== true };
  if (options.dryRun) {
    context.result(value, () => `Would free ${size(bytes)}:\n${files.join("\n")}`);
    return;
  }
  if (!options.yes) await confirm(context, `Delete ${model.id} (${size(bytes)})? [y/N] `);
  await context.store.remove(model);
  context.result(value, () => `Deleted ${model.id} and freed ${size(bytes)}.`);
}

async function confirm({ io }: CliContext, question: string): Promise<void> {
  if (!io.in.isTTY)
    throw invalidInput("Cannot ask for confirmation: standard input is not a terminal.", {
      hint: "Pass --yes to delete without being asked.",
    });
  const asking = createInterface({ input: io.in, output: io.err });
  const answer = await asking.question(question).finally(() => asking.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new LocalInferenceError("CANCELLED", "Nothing was deleted.");
}

const WORDS: Readonly<Record<FileState, string>> = {
  ok: "matches its checksum",
  damaged: "is damaged",
  missing: "is missing",
  unknown: "cannot be checked: its checksum is not known",
};

/** `verify`: reads files and compares them with their checksums. Exits with 4 when one is damaged or missing. */
export async function verify(context: CliContext, ids: readonly string[]): Promise<void> {
  const models =
    ids.length > 0
      ? await Promise.all(ids.map((id) => requireInstalled(context, id)))
      : (await context.store.installed()).filter(({ origin }) => origin === "download");
  const results: Verification[] = [];
  for (const model of models) results.push(await verifyOne(context, model));
  if (results.some(({ state }) => state === "damaged" || state === "missing")) context.exitCode = 4;
  context.result(results, () =>
    results.length === 0
      ? "No model was downloaded yet."
      : results.flatMap(({ files }) => files.map(({ path, state }) => `${path} ${WORDS[state]}`)).join("\n"),
  );
}

async function verifyOne(context: CliContext, model: InstalledModel) {
  const progress = context.options.quiet || context.options.json ? SILENT : progressOn(context.io);
  const common = { phase: "verifying", bytesPerSecond: 0, fileNumber: 1, fileCount: 1 } as const;
  try {
    return await context.store.verify(model, {
      signal: context.signal,
      onProgress: (receivedBytes, totalBytes) =>
        progress.update({ ...common, receivedBytes, totalBytes, file: model.name }),
    });
  } finally {
    progress.end();
  }
}
