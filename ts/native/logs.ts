import { type LogLevel, log } from "../support/log.js";
import { loadedNative, loadNative } from "./addon.js";

/** Moves what the engine has logged since the last call into the log. Does nothing before the addon is loaded. */
export function forwardLogs(): void {
  for (const record of loadedNative()?.takeLogs() ?? []) {
    log(record.level, record.message, { target: record.target });
  }
}

/** Sets how much the engine logs, for the whole process. */
export async function setEngineLogLevel(level: LogLevel | "off"): Promise<void> {
  (await loadNative()).setLogLevel(level);
}
