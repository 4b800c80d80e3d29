import { createHash } from "node:crypto";
import type { IAgentRuntime } from "@elizaos/core";
import type { Lane, Sharing } from "../engine/text/types.js";
import type { Config } from "../settings/config.js";
import { present } from "../support/present.js";
import type { GenerationRequest } from "./request/text.js";

/** Longest name of a conversation that is taken as it is, in characters. */
const LONGEST_NAME = 200;

/** Types that decide whether and how an agent answers: somebody waits for them. */
const INTERACTIVE_TYPES: readonly string[] = ["RESPONSE_HANDLER"];

type Asked = Pick<GenerationRequest, "sharing" | "stream">;

/** How a request of a model type shares its model: as its caller asks, as the settings say, or as is usual for the type. */
export function sharingFor(
  runtime: Pick<IAgentRuntime, "agentId">,
  config: Pick<Config, "lanes" | "contextFull">,
  type: string,
  asked: Asked,
): Sharing {
  const { conversation, queueTimeoutMs } = asked.sharing;
  return present({
    lane: laneOf(config, type, asked),
    // Agents and model types have prompts of their own, so each has its own cache of the same conversation.
    conversation: conversation && `${runtime.agentId}/${type}/${shortened(conversation)}`,
    contextFull: config.contextFull,
    queueTimeoutMs,
  });
}

function laneOf({ lanes }: Pick<Config, "lanes">, type: string, { sharing, stream }: Asked): Lane {
  // A stream has somebody who reads it.
  const usual = stream || INTERACTIVE_TYPES.includes(type) ? "interactive" : "normal";
  return sharing.lane ?? lanes[type] ?? usual;
}

function shortened(name: string): string {
  return name.length <= LONGEST_NAME ? name : createHash("sha256").update(name).digest("hex");
}
