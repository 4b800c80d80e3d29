import { logger } from "@elizaos/core";
import { PLUGIN_NAME } from "./names.js";
import { type LogRecord, loadedNative, loadNative } from "./native.js";

/** How this plugin's lines are marked in the agent's log. */
export const LOG_SOURCE = `plugin:${PLUGIN_NAME}`;

type Level = LogRecord["level"];

/** One line of this package's own. */
export function log(level: Level, message: string, facts: Record<string, unknown> = {}): void {
  logger[level]({ src: LOG_SOURCE, ...facts }, message);
}

/** Moves what the engine has logged since the last call into the agent's log. Does nothing before the addon is loaded. */
export function forwardLogs(): void {
  for (const record of loadedNative()?.takeLogs() ?? []) {
    logger[record.level]({ src: LOG_SOURCE, target: record.target }, record.message);
  }
}

/** Sets how much the engine logs, for the whole process. */
export async function setEngineLogLevel(level: Level | "off"): Promise<void> {
  (await loadNative()).setLogLevel(level);
}
