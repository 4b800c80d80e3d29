import { LANES, type Lane } from "../../engine/text/types.js";
import { invalidInput } from "../../errors.js";
import { present } from "../../support/present.js";
import { fieldsOf } from "../../support/records.js";
import { optionalNumber, type Params } from "./fields.js";

/** Where callers and core name a conversation, the most particular first; the last is a hash of what prompts begin with. */
const CONVERSATION_KEYS = ["conversation", "conversationId", "roomId", "promptCacheKey"] as const;

/** What a caller says about sharing a model; the handler completes it from the settings and the model type. */
export interface AskedSharing {
  readonly lane?: Lane;
  /** The caller's name for the conversation. */
  readonly conversation?: string;
  readonly queueTimeoutMs?: number;
}

export function readSharing(params: Params): AskedSharing {
  // What core 2 tells its own providers.
  const { eliza } = fieldsOf(params.providerOptions);
  const sources = [params, fieldsOf(eliza)];
  return present({
    lane: readLane(sources),
    conversation: readConversationName(sources),
    queueTimeoutMs: optionalNumber(params, "queueTimeoutMs"),
  });
}

function readLane([params = {}, ofEliza = {}]: readonly Params[]): Lane | undefined {
  const named = (value: unknown) => LANES.find((lane) => lane === value);
  const { lane, priority } = params;
  if (lane !== undefined && lane !== null && named(lane) === undefined) {
    throw invalidInput(`lane ${JSON.stringify(lane)} is not known: use ${LANES.join(", ")}.`);
  }
  // A priority of another kind is not meant for the queue.
  return named(lane) ?? named(priority) ?? named(ofEliza.priority);
}

function readConversationName(sources: readonly Params[]): string | undefined {
  for (const source of sources) {
    for (const key of CONVERSATION_KEYS) {
      const name = source[key];
      if (typeof name === "string" && name !== "") return name;
    }
  }
  return undefined;
}
