import { modelsOf } from "../../download/hub.js";
import { hubReference } from "../../download/reference.js";
import { companionRoles, wantedByText } from "../../download/wanted.js";
import { installedLine } from "../../views/models.js";
import type { CliContext } from "../support/context.js";
import { size, table } from "../support/output.js";
import { progressOn, SILENT } from "../support/progress.js";

export interface PullCommandOptions {
  readonly with?: string;
  readonly list?: boolean;
  readonly dryRun?: boolean;
}

/** `pull`: fetches a model and registers it. */
export async function pull(context: CliContext, name: string, options: PullCommandOptions): Promise<void> {
  if (options.list) return list(context, name);
  const companions = options.with === undefined ? undefined : companionRoles(options.with);
  const wanted = wantedByText(name, companions);
  if (options.dryRun) return plan(context, wanted);
  const progress = context.options.quiet || context.options.json ? SILENT : progressOn(context.io);
  try {
    const model = await context.store.pull(wanted, {
      signal: context.signal,
      onPlan: ({ files, bytes, missing, licence }) => {
        context.note(`Fetching ${files.length} file${files.length === 1 ? "" : "s"}, ${size(bytes)}.`);
        if (licence !== undefined) context.note(`Licence: ${licence}.`);
        for (const path of missing)
          context.note(`The hub does not have ${path}; the model is installed without it.`);
      },
      onProgress: (now) => progress.update(now),
    });
    progress.end();
    context.result(installedLine(model), ({ id, path }) => `${id} is installed: ${path}`);
  } finally {
    progress.end();
  }
}

async function plan(context: CliContext, wanted: ReturnType<typeof wantedByText>): Promise<void> {
  const found = await context.store.plan(wanted, context.signal);
  const files = found.files.map(({ source, bytes, role, sha256 }) => ({ source, bytes, role, sha256 }));
  context.result({ ...found, files }, () =>
    table(
      ["FILE", "SIZE", "FOR"],
      files.map((file) => [file.source, size(file.bytes), file.role]),
    ),
  );
}

async function list(context: CliContext, name: string): Promise<void> {
  const reference = hubReference(name) ?? hubReference(`hf:${name}`);
  if (reference === undefined) return;
  const repository = await context.store.hub.repository(reference, context.signal);
  const found = modelsOf(repository).map(({ file, bytes, files }) => ({ file, bytes, parts: files.length }));
  const value = { repository: repository.repository, commit: repository.commit, models: found };
  context.result(value, () =>
    found.length === 0
      ? `${repository.repository} holds no GGUF file.`
      : table(
          ["MODEL", "SIZE", "PARTS"],
          found.map(({ file, bytes, parts }) => [
            `hf:${repository.repository}/${file}`,
            size(bytes),
            String(parts),
          ]),
        ),
  );
}
