import { invalidInput } from "../errors.js";

/** A repository of the hub, or one file in it. */
export interface HubReference {
  /** `owner/name`. */
  readonly repository: string;
  /** Branch, tag or commit. Default `main`. */
  readonly revision: string;
  /** Path inside the repository. */
  readonly file?: string;
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const REVISION = /^[A-Za-z0-9._/-]+$/;
const FORMS =
  "hf:owner/repository, hf:owner/repository/file.gguf, or with a revision hf:owner/repository@revision/…";

/**
 * Reads `hf:owner/repo[@revision][/path/file.gguf]`, or an address of a model page or file on the hub.
 *
 * @returns undefined when the text has neither form.
 * @throws LocalInferenceError `INVALID_INPUT` when it has one and is malformed.
 */
export function hubReference(text: string): HubReference | undefined {
  const trimmed = text.trim();
  if (/^hf:/i.test(trimmed)) return ofShortForm(trimmed.slice(3).replace(/^\/\//, ""), text);
  if (/^https?:\/\//i.test(trimmed)) return ofAddress(trimmed, text);
  return undefined;
}

function ofShortForm(rest: string, written: string): HubReference {
  const [owner = "", named = "", ...file] = rest.replace(/\/+$/, "").split("/");
  const [name = "", revision] = splitOnce(named, "@");
  return checked(
    { repository: `${owner}/${name}`, revision: revision ?? "main", file: file.join("/") },
    written,
  );
}

/** `https://host/owner/repo`, `/tree/<revision>`, `/blob/<revision>/file` and `/resolve/<revision>/file`. */
function ofAddress(address: string, written: string): HubReference {
  const url = new URL(address);
  const [owner = "", name = "", kind, revision, ...file] = url.pathname
    .split("/")
    .filter((part) => part !== "")
    .map(decodeURIComponent);
  if (kind !== undefined && !["tree", "blob", "resolve"].includes(kind)) throw malformed(written);
  return checked(
    { repository: `${owner}/${name}`, revision: revision ?? "main", file: file.join("/") },
    written,
  );
}

function checked(reference: Required<HubReference>, written: string): HubReference {
  const { repository, revision, file } = reference;
  const names = repository.split("/");
  const wrongName = names.some((name) => !NAME.test(name) || name.includes(".."));
  const wrongFile = file.split("/").some((part) => part === "." || part === ".." || part.includes("\0"));
  if (wrongName || wrongFile || !REVISION.test(revision) || revision.includes("..")) throw malformed(written);
  return file === "" ? { repository, revision } : { repository, revision, file };
}

/** The shortest text that {@link hubReference} reads as this reference. */
export function referenceText({ repository, revision, file }: HubReference): string {
  const at = revision === "main" ? "" : `@${revision}`;
  return `hf:${repository}${at}${file === undefined ? "" : `/${file}`}`;
}

function malformed(written: string): Error {
  return invalidInput(`${JSON.stringify(written)} does not name a model on the hub.`, {
    hint: `Write ${FORMS}.`,
  });
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
