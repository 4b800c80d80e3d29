import { logger } from "@elizaos/core";
import type { LogSink } from "../support/log.js";
import { PLUGIN_NAME } from "./names.js";

/** How this plugin's lines are marked in the agent's log. */
const SOURCE = `plugin:${PLUGIN_NAME}`;

/** Writes to the log of elizaOS. */
export const elizaLog: LogSink = (level, message, facts) => {
  logger[level]({ src: SOURCE, ...facts }, message);
};
