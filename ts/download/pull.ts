import { LocalInferenceError } from "../errors.js";
import { DEFAULT_RESERVE_BYTES } from "./defaults.js";
import { type DownloadOptions, downloadFile, type FileProgress } from "./download.js";
import { assertSpace, sizeOf } from "./files.js";
import type { Hub } from "./hub.js";
import { makeFoldersOf } from "./paths.js";
import type { DownloadPlan, PlannedFile } from "./plan.js";
import type { InstalledFile, InstalledModel } from "./registry.js";

export interface PullProgress extends FileProgress {
  /** The file at work, as a path in its repository. */
  readonly file: string;
  readonly fileNumber: number;
  readonly fileCount: number;
}

export interface PullOptions extends Omit<DownloadOptions, "onProgress"> {
  /** Called once, before the first byte. */
  readonly onPlan?: (plan: DownloadPlan) => void;
  /** Bytes count over all files of the model. */
  readonly onProgress?: (progress: PullProgress) => void;
}

/** Where a pull fetches from and to. */
export interface PullTarget {
  readonly hub: Hub;
  readonly modelsDir: string;
  /** What every download uses unless the pull says otherwise. */
  readonly download?: DownloadOptions;
}

/**
 * Fetches the files of a plan. Continues what an earlier pull began, and fetches no complete file again.
 *
 * @throws LocalInferenceError `DISK_FULL` before the first byte, and what {@link downloadFile} throws.
 */
export async function fetchPlan(
  target: PullTarget,
  plan: DownloadPlan,
  options: PullOptions,
): Promise<InstalledModel> {
  const destinations: string[] = [];
  for (const file of plan.files) destinations.push(await makeFoldersOf(target.modelsDir, file.destination));
  await assertRoom(target, plan, destinations, options);
  options.onPlan?.(plan);
  const files: InstalledFile[] = [];
  for (const [index, file] of plan.files.entries()) {
    files.push(await fetchFile(target, plan, file, destinations[index] ?? "", index, options));
  }
  return installedOf(plan, files, target.modelsDir);
}

async function assertRoom(
  { modelsDir, download }: PullTarget,
  plan: DownloadPlan,
  destinations: readonly string[],
  options: PullOptions,
): Promise<void> {
  const there = await Promise.all(destinations.map(async (path) => (await sizeOf(path)) ?? 0));
  const needed = plan.files.reduce((sum, { bytes }, index) => sum + (there[index] === bytes ? 0 : bytes), 0);
  const parts = await Promise.all(destinations.map(async (path) => (await sizeOf(`${path}.part`)) ?? 0));
  const begun = parts.reduce((sum, size) => sum + size, 0);
  const reserve = options.reserveBytes ?? download?.reserveBytes ?? DEFAULT_RESERVE_BYTES;
  await assertSpace(modelsDir, Math.max(0, needed - begun), reserve);
}

async function fetchFile(
  { hub, download }: PullTarget,
  plan: DownloadPlan,
  file: PlannedFile,
  destination: string,
  index: number,
  options: PullOptions,
): Promise<InstalledFile> {
  const before = plan.files.slice(0, index).reduce((sum, { bytes }) => sum + bytes, 0);
  const { onPlan: _, onProgress, ...rest } = options;
  const { path, bytes, sha256 } = await downloadFile(
    hub.http,
    { ...file, destination, refusal: (answer) => hub.refusal(answer, file.reference) },
    {
      ...download,
      ...rest,
      onProgress: (progress) =>
        onProgress?.({
          ...progress,
          receivedBytes: before + progress.receivedBytes,
          totalBytes: plan.bytes,
          file: file.reference.file ?? "",
          fileNumber: index + 1,
          fileCount: plan.files.length,
        }),
    },
  );
  return { path, bytes, sha256, role: file.role };
}

function installedOf(plan: DownloadPlan, files: readonly InstalledFile[], modelsDir: string): InstalledModel {
  const main = files.find(({ role }) => role === "model") ?? files[0];
  if (main === undefined)
    throw new LocalInferenceError("INTERNAL", `${plan.id} has no file in ${modelsDir}.`);
  const now = new Date().toISOString();
  const { id, name, catalogId, repository, revision, licence } = plan;
  return {
    id,
    name,
    path: main.path,
    files: [main, ...files.filter((file) => file !== main)],
    bytes: plan.bytes,
    origin: "download",
    owned: true,
    repository,
    revision,
    installedAt: now,
    ...(plan.files.every(({ sha256 }) => sha256 !== undefined) ? { verifiedAt: now } : {}),
    ...(catalogId === undefined ? {} : { catalogId }),
    ...(licence === undefined ? {} : { licence }),
  };
}
