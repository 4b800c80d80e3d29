import { z } from "zod";
import { invalidInput, LocalInferenceError } from "../errors.js";
import { type Answer, failed, type Http, textOf, transientStatus } from "./http.js";
import { type HubReference, referenceText } from "./reference.js";
import { RETRY, type RetryOptions, TransientError, withRetries } from "./retry.js";
import { isGguf, partsOf, splitPart } from "./split.js";

/** A file of a repository, as the hub describes it. */
export interface HubFile {
  readonly path: string;
  readonly bytes: number;
  /** Of large files only: those are kept by their hash. */
  readonly sha256?: string;
}

export interface HubRepository {
  readonly repository: string;
  /** The commit that the revision means now; files are fetched from it, so that they belong together. */
  readonly commit: string;
  readonly gated: boolean;
  /** As the repository's card says, such as `apache-2.0`. */
  readonly licence?: string;
  readonly files: readonly HubFile[];
}

/** Most bytes of a repository description. */
const LIMIT = 32 * 1024 * 1024;

const description = z.object({
  sha: z.string().regex(/^[0-9a-f]{7,64}$/i),
  gated: z.union([z.boolean(), z.string()]).optional(),
  cardData: z.object({ license: z.unknown() }).partial().nullish(),
  siblings: z
    .array(
      z.object({
        rfilename: z.string().min(1),
        size: z.number().int().nonnegative().nullish(),
        lfs: z
          .object({
            sha256: z.string().regex(/^[0-9a-f]{64}$/i),
            size: z.number().int().nonnegative(),
          })
          .nullish(),
      }),
    )
    .default([]),
});

/** Asks a hub with the interface of Hugging Face what is in a repository. */
export class Hub {
  readonly http: Http;
  readonly #retry: RetryOptions;

  constructor(http: Http, retry: Partial<RetryOptions> = {}) {
    this.http = http;
    this.#retry = { ...RETRY, ...retry };
  }

  /**
   * The files of a repository at a revision.
   *
   * @throws LocalInferenceError `OFFLINE`, `MODEL_NOT_FOUND`, `ACCESS_DENIED` with the licence page to open,
   * `DOWNLOAD_FAILED`; an `AbortError`.
   */
  async repository(reference: HubReference, signal?: AbortSignal): Promise<HubRepository> {
    const { repository, revision } = reference;
    const url = this.#address(`api/models/${repository}/revision/${encodeURIComponent(revision)}`);
    url.searchParams.set("blobs", "true");
    const text = await this.#retried(() => this.#read(url, reference, signal), signal);
    const parsed = description.safeParse(json(text));
    if (!parsed.success) throw failed(`The hub's description of ${repository} cannot be read.`);
    const { sha, gated = false, cardData, siblings } = parsed.data;
    const licence = cardData?.license;
    return {
      repository,
      commit: sha,
      gated: gated !== false,
      ...(typeof licence === "string" ? { licence } : {}),
      files: siblings.map(({ rfilename, size, lfs }) => ({
        path: rfilename,
        bytes: lfs?.size ?? size ?? 0,
        ...(lfs ? { sha256: lfs.sha256.toLowerCase() } : {}),
      })),
    };
  }

  /** Where a file of a repository is fetched from. */
  fileUrl(repository: string, commit: string, path: string): URL {
    const encoded = path.split("/").map(encodeURIComponent).join("/");
    return this.#address(`${repository}/resolve/${encodeURIComponent(commit)}/${encoded}`);
  }

  /** The page where people read and accept a model's licence. */
  pageOf(repository: string): string {
    return this.#address(repository).href;
  }

  /** The error of a status that is final. */
  refusal(answer: Answer, reference: HubReference): LocalInferenceError {
    const code = answer.headers.get("x-error-code") ?? "";
    const what = referenceText(reference);
    if (answer.status === 404 || code === "RepoNotFound" || code === "EntryNotFound") {
      return notFound(what, this.http.hasToken);
    }
    if (answer.status === 401 || answer.status === 403) return this.#denied(answer.status, reference);
    return failed(`The hub answered ${answer.status} for ${what}.`);
  }

  #denied(status: number, { repository }: HubReference): LocalInferenceError {
    const page = this.pageOf(repository);
    const hint = this.http.hasToken
      ? `Open ${page}, accept the licence with the account that HF_TOKEN belongs to, and give the token read access.`
      : `Open ${page}, accept the licence there, and set HF_TOKEN to an access token of that account.`;
    return new LocalInferenceError("ACCESS_DENIED", `The hub refuses access to ${repository} (${status}).`, {
      hint,
    });
  }

  async #read(url: URL, reference: HubReference, signal: AbortSignal | undefined): Promise<string> {
    const answer = await this.http.get(url, { accept: "application/json" }, signal);
    if (answer.status === 200) return textOf(answer, LIMIT);
    answer.discard();
    throw transientStatus(answer) ?? this.refusal(answer, reference);
  }

  async #retried<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      return await withRetries(work, this.#retry, signal);
    } catch (error) {
      if (error instanceof TransientError) throw failed(`The hub cannot be reached: ${error.message}.`);
      throw error;
    }
  }

  #address(path: string): URL {
    return new URL(path, this.http.baseUrl);
  }
}

/** A model in a repository: one GGUF, or all parts of a split one. */
export interface HubModel {
  /** Path of the file, of the first part of a split model. */
  readonly file: string;
  readonly files: readonly HubFile[];
  readonly bytes: number;
}

/** The GGUF models of a repository; a split one counts once and an incomplete one not at all. */
export function modelsOf(repository: HubRepository): HubModel[] {
  const byPath = new Map(repository.files.map((file) => [file.path, file]));
  return repository.files
    .filter(({ path }) => isGguf(path) && (splitPart(path)?.index ?? 1) === 1)
    .flatMap(({ path }) => {
      const files = partsOf(path).map((part) => byPath.get(part));
      if (!files.every((file) => file !== undefined)) return [];
      return [{ file: path, files, bytes: files.reduce((sum, file) => sum + file.bytes, 0) }];
    });
}

/**
 * The model that a reference means in its repository.
 *
 * @throws LocalInferenceError `INVALID_INPUT` when it names no file and there are several, `MODEL_NOT_FOUND`.
 */
export function modelIn(repository: HubRepository, reference: HubReference): HubModel {
  const models = modelsOf(repository);
  const { file } = reference;
  if (file !== undefined) {
    const wanted = partsOf(file)[0];
    const found = models.find((model) => model.file === wanted);
    if (found !== undefined) return found;
    throw notFound(referenceText(reference), true, listed(models));
  }
  const [only, ...others] = models;
  if (only === undefined) throw notFound(`A GGUF file in ${repository.repository}`, true);
  if (others.length === 0) return only;
  throw invalidInput(`${repository.repository} holds ${models.length} models.`, {
    hint: `Name one of them: ${listed(models)}.`,
  });
}

function listed(models: readonly HubModel[]): string {
  const names = models.map(({ file }) => file);
  return names.length > 12 ? `${names.slice(0, 12).join(", ")}, …` : names.join(", ");
}

function notFound(what: string, seesPrivate: boolean, others?: string): LocalInferenceError {
  const hint = others ? `Name one of its files: ${others}.` : "If it is private or gated, set HF_TOKEN.";
  const details = others || !seesPrivate ? { hint } : {};
  return new LocalInferenceError("MODEL_NOT_FOUND", `${what} is not on the hub.`, details);
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
