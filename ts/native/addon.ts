import type * as Addon from "../../index.js";
import { fromNative, LocalInferenceError } from "../errors.js";

export type {
  Accelerator,
  BackendInfo,
  ChatInput,
  Chunk,
  ConstraintInput,
  ContextInfo,
  ContextMetrics,
  ContextOptions,
  EmbedderInfo,
  EmbedderOptions,
  FitAssessment,
  FitOptions,
  GenerateInput,
  HardwareFacts,
  LoadOptions,
  LogRecord,
  ModelHeader,
  ModelShape,
  NativeContext,
  NativeEmbedder,
  NativeEmbedding,
  NativeLoading,
  NativeModel,
  NativeResampler,
  NativeVad,
  NativeWakeWords,
  PowerState,
  RenderedChat,
  TokenLogprob,
  Usage,
  VadEventRecord,
} from "../../index.js";

/** The functions of the addon that this package calls. */
export type NativeAddon = Pick<
  typeof Addon,
  | "readHeader"
  | "readShape"
  | "assessFit"
  | "defaultHeadroom"
  | "accelerators"
  | "powerState"
  | "backendInfo"
  | "hardwareFacts"
  | "takeLogs"
  | "setLogLevel"
  | "errorCodes"
  | "loadModel"
  | "readWav"
  | "NativeResampler"
  | "NativeVad"
  | "NativeWakeWords"
>;

let pending: Promise<NativeAddon> | undefined;
let loaded: NativeAddon | undefined;

/**
 * The addon, loaded on the first call.
 *
 * @throws LocalInferenceError `BACKEND_UNAVAILABLE`, with the loader's real reason and the remedy.
 */
export function loadNative(): Promise<NativeAddon> {
  pending ??= importAddon();
  return pending;
}

/** The addon when it is already loaded. */
export function loadedNative(): NativeAddon | undefined {
  return loaded;
}

/** Runs a call into the addon and maps whatever it throws. */
export async function callNative<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw fromNative(error);
  }
}

/**
 * Process-wide settings that llama.cpp's libraries read while they are loaded. A value that is already there is kept.
 *
 * GOMP_SPINCOUNT bounds how long a thread spins at a barrier before it sleeps: without a bound, two threads on a busy
 * machine wait for each other a hundred times longer than they compute; with none at all an idle machine decodes at a
 * third of its speed (docs/performance.md). GGML_NO_BACKTRACE keeps an abort from starting a debugger.
 */
const LIBRARY_SETTINGS = { GOMP_SPINCOUNT: "1000", GGML_NO_BACKTRACE: "1" } as const;

async function importAddon(): Promise<NativeAddon> {
  for (const [name, value] of Object.entries(LIBRARY_SETTINGS)) process.env[name] ??= value;
  try {
    // A computed specifier keeps bundlers from pulling the generated loader into their output.
    const location = new URL("../../index.js", import.meta.url).href;
    loaded = (await import(/* @vite-ignore */ location)) as NativeAddon;
    return loaded;
  } catch (error) {
    throw explain(error);
  }
}

/** @internal Replaces the addon; `undefined` restores the real one. */
export function setNativeForTests(addon: NativeAddon | undefined): void {
  loaded = addon;
  pending = addon === undefined ? undefined : Promise.resolve(addon);
}

const REMEDIES: readonly { pattern: RegExp; hint: (match: RegExpExecArray) => string }[] = [
  {
    pattern: /version [`'"]?(GLIBC_[\d.]+)[`'"]? not found/,
    hint: (match) => `This system's C library is too old: the addon needs ${match[1]}.`,
  },
  {
    pattern: /version [`'"]?(GLIBCXX_[\d.]+|CXXABI_[\d.]+)[`'"]? not found/,
    hint: (match) => `This system's C++ library is too old: the addon needs ${match[1]}.`,
  },
  {
    pattern: /Error relocating|ld-musl|libc\.musl/,
    hint: () => "This system uses musl; install the package built for it or run on a glibc distribution.",
  },
  {
    pattern: /([\w.+-]+\.so[\w.]*): cannot open shared object file/,
    hint: (match) => `The shared library ${match[1]} is missing; reinstall the package.`,
  },
  {
    pattern: /Unsupported (OS|architecture)/,
    hint: () => "There is no build of the addon for this platform.",
  },
  {
    pattern: /version mismatch/,
    hint: () => "The addon and the package have different versions; reinstall both.",
  },
];

/**
 * Turns the generated loader's chain of attempts into one error: the attempt that found a file and could not load it
 * explains more than the ones that found nothing.
 */
export function explain(error: unknown): LocalInferenceError {
  if (error instanceof LocalInferenceError) return error;
  const attempts = causes(error);
  const real = attempts.find((attempt) => !isNotFound(attempt)) ?? attempts.at(-1);
  for (const { pattern, hint } of REMEDIES) {
    for (const attempt of attempts) {
      const match = pattern.exec(attempt.message);
      if (match) return backendUnavailable(attempt, hint(match), error);
    }
  }
  const hint = attempts.every(isNotFound)
    ? `No package with the addon for ${process.platform}-${process.arch} is installed; ` +
      "reinstall with optional dependencies enabled."
    : "Reinstall the package; if this persists, report the reason above.";
  return backendUnavailable(real, hint, error);
}

function backendUnavailable(attempt: Error | undefined, hint: string, cause: unknown): LocalInferenceError {
  const reason = firstLine(attempt?.message ?? String(cause));
  return new LocalInferenceError("BACKEND_UNAVAILABLE", `The native addon could not be loaded: ${reason}.`, {
    hint,
    cause,
  });
}

/** The attempts behind the loader's summary error, or the error itself when it has none. */
function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let current = error; current instanceof Error && !chain.includes(current); current = current.cause) {
    chain.push(current);
  }
  return chain.length > 1 ? chain.slice(1) : chain;
}

function isNotFound(error: Error): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND";
}

function firstLine(message: string): string {
  return (message.split("\n", 1)[0] ?? message).replace(/\.$/, "");
}
