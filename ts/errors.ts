/** Codes of the native engine, in the order of its own list. */
export const ERROR_CODES = [
  "MODEL_NOT_FOUND",
  "MODEL_INVALID",
  "MODEL_UNSUPPORTED",
  "OUT_OF_MEMORY",
  "CONTEXT_OVERFLOW",
  "CANCELLED",
  "UNSUPPORTED",
  "INVALID_INPUT",
  "TEMPLATE_INVALID",
  "GRAMMAR_INVALID",
  "BACKEND_UNAVAILABLE",
  "CLOSED",
  "QUEUE_FULL",
  "QUEUE_TIMEOUT",
  "DECODE_FAILED",
  "INTERNAL",
] as const;

/** What a caller branches on: a code of the native engine. */
export type EngineErrorCode = (typeof ERROR_CODES)[number];

/** Codes of fetching and keeping model files. */
export const DOWNLOAD_ERROR_CODES = [
  "OFFLINE",
  "ACCESS_DENIED",
  "DOWNLOAD_FAILED",
  "CHECKSUM_MISMATCH",
  "DISK_FULL",
  "BUSY",
] as const;
export type DownloadErrorCode = (typeof DOWNLOAD_ERROR_CODES)[number];

/** The code that makes a model router try the next provider; only the elizaOS layer uses it. */
export const UNAVAILABLE = "LOCAL_INFERENCE_UNAVAILABLE";

export type LocalInferenceErrorCode = EngineErrorCode | DownloadErrorCode | typeof UNAVAILABLE;

/**
 * Why a request failed, as elizaOS routers read it: the first two move on to the next provider,
 * `invalid_input` is final.
 */
export type UnavailableReason = "backend_unavailable" | "capability_unavailable";
export type ErrorReason = UnavailableReason | "invalid_input";

export interface ErrorDetails {
  /** What the user can do about it. */
  hint?: string;
  cause?: unknown;
  reason?: ErrorReason;
}

/** Every failure of this package. */
export class LocalInferenceError extends Error {
  override name = "LocalInferenceError";
  readonly code: LocalInferenceErrorCode;
  readonly hint?: string;
  readonly reason?: ErrorReason;

  constructor(code: LocalInferenceErrorCode, message: string, details: ErrorDetails = {}) {
    super(withHint(message, details.hint), causeOption(details.cause));
    this.code = code;
    if (details.hint !== undefined) this.hint = details.hint;
    if (details.reason !== undefined) this.reason = details.reason;
  }
}

function withHint(message: string, hint: string | undefined): string {
  return hint === undefined || message.endsWith(hint) ? message : `${message} ${hint}`;
}

function causeOption(cause: unknown): ErrorOptions | undefined {
  return cause === undefined ? undefined : { cause };
}

const NATIVE_MESSAGE = new RegExp(`^(${ERROR_CODES.join("|")}): ([\\s\\S]*)$`);

/** What napi itself says of an argument of the wrong type: its status, such as `StringExpected`, is the error's code. */
const WRONG_ARGUMENT = /^(InvalidArg|\w+Expected)$/;

/** Maps what the addon throws (`CODE: message`) to a {@link LocalInferenceError}; anything else is `INTERNAL`. */
export function fromNative(error: unknown): LocalInferenceError {
  if (isOwn(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  const match = NATIVE_MESSAGE.exec(message);
  const status = (error as { code?: unknown } | null)?.code;
  const other = typeof status === "string" && WRONG_ARGUMENT.test(status) ? "INVALID_INPUT" : "INTERNAL";
  const code = (match?.[1] as EngineErrorCode | undefined) ?? other;
  const details: ErrorDetails = { cause: error };
  if (code === "INVALID_INPUT") details.reason = "invalid_input";
  return new LocalInferenceError(code, match?.[2] ?? message, details);
}

/** Also an error of another copy of this package in the process, which is of another class. */
function isOwn(error: unknown): error is LocalInferenceError {
  if (error instanceof LocalInferenceError) return true;
  return error instanceof Error && (ERROR_CODES as readonly unknown[]).includes(codeOf(error));
}

/** The code of an error, whichever copy of this package it comes from. */
export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null | undefined)?.code;
}

/** A bad argument or setting. */
export function invalidInput(
  message: string,
  details: Omit<ErrorDetails, "reason"> = {},
): LocalInferenceError {
  return new LocalInferenceError("INVALID_INPUT", message, { ...details, reason: "invalid_input" });
}

/** A model, a backend or a capability is not there; a router may ask the next provider. */
export function unavailable(
  reason: UnavailableReason,
  message: string,
  hint?: string,
  cause?: unknown,
): LocalInferenceError {
  const details: ErrorDetails = { reason };
  if (hint !== undefined) details.hint = hint;
  if (cause !== undefined) details.cause = cause;
  return new LocalInferenceError(UNAVAILABLE, message, details);
}

/**
 * The error of an aborted call: `name` is `AbortError`, `code` is `CANCELLED`, `cause` is the signal's reason. A
 * signal that this package fired carries its own error.
 */
export function abortError(signal?: AbortSignal): LocalInferenceError {
  if (signal?.reason instanceof LocalInferenceError) return signal.reason;
  const error = new LocalInferenceError("CANCELLED", "The operation was aborted.", { cause: signal?.reason });
  error.name = "AbortError";
  return error;
}

/** Throws {@link abortError} when the signal has already fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(signal);
}

export function closedError(what: string): LocalInferenceError {
  const hint = "Open it again; it was closed while still in use.";
  return new LocalInferenceError("CLOSED", `The ${what} is closed.`, { hint });
}

const REASON_TOWARDS_ELIZA: Partial<Record<LocalInferenceErrorCode, ErrorReason>> = {
  MODEL_NOT_FOUND: "backend_unavailable",
  MODEL_INVALID: "backend_unavailable",
  BACKEND_UNAVAILABLE: "backend_unavailable",
  OUT_OF_MEMORY: "backend_unavailable",
  OFFLINE: "backend_unavailable",
  ACCESS_DENIED: "backend_unavailable",
  DOWNLOAD_FAILED: "backend_unavailable",
  CHECKSUM_MISMATCH: "backend_unavailable",
  DISK_FULL: "backend_unavailable",
  BUSY: "backend_unavailable",
  MODEL_UNSUPPORTED: "capability_unavailable",
  UNSUPPORTED: "capability_unavailable",
  INVALID_INPUT: "invalid_input",
  GRAMMAR_INVALID: "invalid_input",
  TEMPLATE_INVALID: "invalid_input",
  CONTEXT_OVERFLOW: "invalid_input",
};

/**
 * The error a model handler throws. What is missing becomes `LOCAL_INFERENCE_UNAVAILABLE`, bad input keeps its
 * code and gets `reason: "invalid_input"`, everything else passes unchanged.
 */
export function towardsEliza(error: unknown): LocalInferenceError {
  const known = fromNative(error);
  const reason = REASON_TOWARDS_ELIZA[known.code];
  if (known.reason === reason || reason === undefined) return known;
  if (reason === "invalid_input") {
    return new LocalInferenceError(known.code, known.message, { ...hintOf(known), reason, cause: known });
  }
  return unavailable(reason, known.message, known.hint, known);
}

function hintOf(error: LocalInferenceError): { hint?: string } {
  return error.hint === undefined ? {} : { hint: error.hint };
}
