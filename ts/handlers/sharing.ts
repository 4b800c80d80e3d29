import { createHash } from "node:crypto";
import type { IAgentRuntime } from "@elizaos/core";
import { LANES, type Lane, type Sharing } from "../engine/text/types.js";
import { invalidInput } from "../errors.js";
import type { Config } from "../settings/config.js";
import { present } from "../support/present.js";
import type { TextParams } from "./params.js";

/** Longest name of a conversation that is taken as it is, in characters. */
const LONGEST_NAME = 200;

/** Types that decide whether and how an agent answers: somebody waits for them. */
const INTERACTIVE_TYPES: readonly string[] = ["RESPONSE_HANDLER"];

/** Where callers and core name a conversation, the most particular first; the last is a hash of what prompts begin with. */
const CONVERSATION_KEYS = ["conversation", "conversationId", "roomId", "promptCacheKey"] as const;

/** How a request of a model type shares its model: by its parameters, the settings, and what is usual for the type. */
export function sharingOf(
  runtime: IAgentRuntime,
  config: Pick<Config, "lanes" | "contextFull">,
  type: string,
  params: TextParams,
): Sharing {
  return present({
    lane: laneOf(config, type, params),
    conversation: conversationOf(runtime, type, params),
    contextFull: config.contextFull,
    queueTimeoutMs: numberOf(params.queueTimeoutMs, "queueTimeoutMs"),
  });
}

function laneOf({ lanes }: Pick<Config, "lanes">, type: string, params: TextParams): Lane {
  const named = (value: unknown) => LANES.find((one) => one === value);
  if (params.lane !== undefined && params.lane !== null && named(params.lane) === undefined) {
    throw invalidInput(`lane ${JSON.stringify(params.lane)} is not known: use ${LANES.join(", ")}.`);
  }
  // A priority of another kind is not meant for the queue.
  const asked = named(params.lane) ?? named(params.priority) ?? named(ofEliza(params).priority);
  if (asked !== undefined) return asked;
  // A stream has somebody who reads it.
  const usual = params.stream === true || INTERACTIVE_TYPES.includes(type) ? "interactive" : "normal";
  return lanes[type] ?? usual;
}

/** Agents and model types have prompts of their own, so each has its own cache of the same conversation. */
function conversationOf(
  runtime: Pick<IAgentRuntime, "agentId">,
  type: string,
  params: TextParams,
): string | undefined {
  for (const source of [params, ofEliza(params)]) {
    for (const key of CONVERSATION_KEYS) {
      const name = source[key];
      if (typeof name === "string" && name !== "") return `${runtime.agentId}/${type}/${shortened(name)}`;
    }
  }
  return undefined;
}

function shortened(name: string): string {
  return name.length <= LONGEST_NAME ? name : createHash("sha256").update(name).digest("hex");
}

/** What core 2 tells its own providers. */
function ofEliza(params: TextParams): Readonly<Record<string, unknown>> {
  const eliza = record(record(params.providerOptions)?.eliza);
  return eliza ?? {};
}

function numberOf(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number") throw invalidInput(`${name} must be a number.`);
  return value;
}

function record(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}
