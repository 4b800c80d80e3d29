import type { Agent } from "../../agent/agent.js";
import { openStore } from "../../agent/open-store.js";
import type { ModelStore } from "../../download/store.js";
import { LocalInferenceError } from "../../errors.js";
import { type Config, readConfig } from "../../settings/config.js";
import { type Io, writeJson, writeLine } from "./output.js";

/** Options that every command has. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly modelsDir?: string;
  readonly offline?: boolean;
}

/** What a command works with. */
export class CliContext {
  readonly io: Io;
  readonly options: GlobalOptions;
  readonly config: Config;
  readonly signal: AbortSignal;
  /** Settings that options of the command line give. */
  readonly overrides: Readonly<Record<string, string>>;
  #store: ModelStore | undefined;
  /** The exit status of a command that did not fail. */
  exitCode = 0;

  constructor(io: Io, options: GlobalOptions, signal: AbortSignal) {
    this.io = io;
    this.options = options;
    this.signal = signal;
    this.overrides = {
      ...(options.modelsDir === undefined ? {} : { MODELS_DIR: options.modelsDir }),
      ...(options.offline === true ? { LOCAL_INFERENCE_OFFLINE: "true" } : {}),
    };
    this.config = readConfig({ getSetting: (name) => this.overrides[name] }, io.environment);
  }

  get store(): ModelStore {
    this.#store ??= openStore(this.config, (message) => this.note(message));
    return this.#store;
  }

  /** An agent with the same settings, where `settings` outrank the others. The caller closes it. */
  async agent(settings: Readonly<Record<string, string | undefined>> = {}): Promise<Agent> {
    const { Agent } = await import("../../agent/agent.js");
    return new Agent({ getSetting: (name) => settings[name] ?? this.overrides[name] }, this.io.environment);
  }

  /** The result of a command: a value with `--json`, otherwise what `text` makes of it. */
  result<T>(value: T, text: (value: T) => string): void {
    if (this.options.json) writeJson(this.io.out, value);
    else writeLine(this.io.out, text(value));
  }

  /** A line for people; not part of the result. */
  note(text: string): void {
    if (!this.options.quiet) writeLine(this.io.err, text);
  }

  /** Shows an error. @returns the exit code. */
  fail(error: unknown): number {
    const { code, message } = describe(error);
    if (this.options.json) writeJson(this.io.out, { error: describe(error) });
    else writeLine(this.io.err, `error: ${message}`);
    return EXIT_CODES[code] ?? 1;
  }
}

/** Errors that are not listed exit with 1. */
export const EXIT_CODES: Readonly<Record<string, number>> = {
  INVALID_INPUT: 2,
  MODEL_NOT_FOUND: 3,
  MODEL_INVALID: 4,
  CHECKSUM_MISMATCH: 4,
  CANCELLED: 130,
};

export function describe(error: unknown): { code: string; message: string; hint?: string } {
  if (error instanceof LocalInferenceError) {
    const { code, message, hint } = error;
    return hint === undefined ? { code, message } : { code, message, hint };
  }
  return { code: "INTERNAL", message: error instanceof Error ? error.message : String(error) };
}
