import { join } from "node:path";
import { invalidInput, LocalInferenceError } from "../errors.js";
import { type Hub, type HubFile, modelIn } from "./hub.js";
import { safeRelativePath } from "./paths.js";
import { type HubReference, hubReference, referenceText } from "./reference.js";
import { modelName, partsOf } from "./split.js";

/** A file that a model needs, as the catalog names it. */
export interface WantedFile {
  readonly repository: string;
  /** Path in the repository; of a split model, of any part. */
  readonly path: string;
  /** Paths that the file had before; the first one that the repository has is taken. */
  readonly formerPaths?: readonly string[];
  /** Default `main`. */
  readonly revision?: string;
  /** Lower-case hexadecimal; the hub's must be the same. */
  readonly sha256?: string;
  /** `model`, or a companion such as `drafter` or `vision`. */
  readonly role: string;
  /** The model is installed without this file where the hub does not have it. */
  readonly optional?: boolean;
}

/** A model that can be fetched: the first file is the one that is loaded. */
export interface WantedModel {
  readonly id: string;
  readonly name: string;
  readonly catalogId?: string;
  readonly files: readonly WantedFile[];
}

export interface PlannedFile {
  readonly url: URL;
  readonly reference: HubReference;
  readonly role: string;
  readonly bytes: number;
  readonly sha256?: string;
  /** What is fetched, exactly: repository, commit and path. */
  readonly source: string;
  /** Path below the models folder. */
  readonly destination: string;
}

export interface DownloadPlan {
  readonly id: string;
  readonly name: string;
  readonly catalogId?: string;
  readonly repository: string;
  readonly revision: string;
  readonly licence?: string;
  readonly files: readonly PlannedFile[];
  readonly bytes: number;
  /** Optional files that are not on the hub. */
  readonly missing: readonly string[];
}

/** The model that `hf:…` names. @throws LocalInferenceError `INVALID_INPUT` for another form of text. */
export function wantedByReference(text: string): HubReference {
  const reference = hubReference(text);
  if (reference !== undefined) return reference;
  throw invalidInput(
    `${JSON.stringify(text)} is neither a name of the catalog nor of the form hf:owner/repository/file.gguf.`,
  );
}

/** Asks the hub what exactly has to be fetched for a reference. */
export async function planReference(
  hub: Hub,
  reference: HubReference,
  signal?: AbortSignal,
): Promise<DownloadPlan> {
  const repository = await hub.repository(reference, signal);
  const model = modelIn(repository, reference);
  const { commit, licence } = repository;
  const id = referenceText({ ...reference, file: model.file });
  const files = model.files.map((file) => planned(hub, reference, commit, file, "model"));
  return {
    id,
    name: modelName(model.file.split("/").at(-1) ?? model.file),
    repository: reference.repository,
    revision: commit,
    ...(licence === undefined ? {} : { licence }),
    files,
    bytes: model.bytes,
    missing: [],
  };
}

/**
 * Asks the hub what exactly has to be fetched for a model of the catalog.
 *
 * @throws LocalInferenceError `MODEL_NOT_FOUND`, `CHECKSUM_MISMATCH` when the hub has other bytes than the catalog pins.
 */
export async function planWanted(hub: Hub, wanted: WantedModel, signal?: AbortSignal): Promise<DownloadPlan> {
  const repositories = new Map<string, ReturnType<Hub["repository"]>>();
  const files: PlannedFile[] = [];
  const missing: string[] = [];
  let main: { commit: string; licence?: string; repository: string } | undefined;
  for (const file of wanted.files) {
    const { repository: name, revision = "main" } = file;
    const key = `${name}@${revision}`;
    const asking = repositories.get(key) ?? hub.repository({ repository: name, revision }, signal);
    repositories.set(key, asking);
    const repository = await asking;
    main ??= repository;
    const found = filesOf(repository.files, file);
    if (found === undefined && file.optional) missing.push(file.path);
    else if (found === undefined) throw notThere(file);
    else {
      const reference = { repository: name, revision };
      files.push(
        ...found.map((one) => planned(hub, reference, repository.commit, agreed(one, file), file.role)),
      );
    }
  }
  if (main === undefined || files.length === 0) throw invalidInput(`${wanted.id} names no file.`);
  return {
    id: wanted.id,
    name: wanted.name,
    ...(wanted.catalogId === undefined ? {} : { catalogId: wanted.catalogId }),
    repository: main.repository,
    revision: main.commit,
    ...(main.licence === undefined ? {} : { licence: main.licence }),
    files,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    missing,
  };
}

function filesOf(all: readonly HubFile[], wanted: WantedFile): HubFile[] | undefined {
  for (const candidate of [wanted.path, ...(wanted.formerPaths ?? [])]) {
    const found = partsOf(candidate).map((path) => all.find((file) => file.path === path));
    if (found.every((file) => file !== undefined)) return found;
  }
  return undefined;
}

function agreed(found: HubFile, wanted: WantedFile): HubFile {
  if (wanted.sha256 === undefined || found.path !== wanted.path) return found;
  if (found.sha256 === undefined || found.sha256 === wanted.sha256)
    return { ...found, sha256: wanted.sha256 };
  throw new LocalInferenceError(
    "CHECKSUM_MISMATCH",
    `${wanted.repository}/${wanted.path} on the hub is not the file that the catalog names: its SHA-256 is ` +
      `${found.sha256}, not ${wanted.sha256}.`,
    { hint: `Fetch it as hf:${wanted.repository}/${wanted.path} to use the hub's version.` },
  );
}

function planned(
  hub: Hub,
  { repository, revision }: HubReference,
  commit: string,
  file: HubFile,
  role: string,
): PlannedFile {
  return {
    url: hub.fileUrl(repository, commit, file.path),
    reference: { repository, revision, file: file.path },
    role,
    bytes: file.bytes,
    ...(file.sha256 === undefined ? {} : { sha256: file.sha256 }),
    source: `${repository}@${commit}/${file.path}`,
    destination: join(...repository.split("/"), safeRelativePath(file.path)),
  };
}

function notThere({ repository, path }: WantedFile): LocalInferenceError {
  return new LocalInferenceError("MODEL_NOT_FOUND", `hf:${repository}/${path} is not on the hub.`);
}
