import type { IAgentRuntime } from "@elizaos/core";
import type { Agent } from "../agent/agent.js";
import type { LaidOut } from "../agent/prompt/layout.js";
import type { Config } from "../settings/config.js";
import { present } from "../support/present.js";
import type { Offered } from "./form/templates.js";
import type { Question, TextRequest } from "./request/text.js";

/** How a prompt of elizaOS is laid out. Messages and segments are the caller's own. */
export async function layoutFor(
  runtime: IAgentRuntime,
  agent: Agent,
  question: Question,
): Promise<LaidOut | undefined> {
  if (question.prompt === undefined || question.prompt.segments !== undefined) return undefined;
  await agent.prompts.open();
  return agent.prompts.layOut(runtime, question.prompt.text);
}

/** The question as the model is asked it. What is cached for a room is stored under its name, unless the caller names another. */
export function askedAs(
  { question, sharing }: TextRequest,
  { promptLayout }: Config,
  laidOut: LaidOut | undefined,
): Pick<TextRequest, "question" | "sharing"> {
  if (laidOut === undefined || promptLayout === "off") return { question, sharing };
  const { text, template, room } = laidOut;
  const conversation = sharing.conversation ?? (room === "" ? undefined : `${template}/${room}`);
  return { question: { prompt: { text } }, sharing: present({ ...sharing, conversation }) };
}

/** What the agent can choose among for a message, or at all. */
export function offeredBy({ actions, providers }: IAgentRuntime, laidOut: LaidOut | undefined): Offered {
  return {
    actions: laidOut?.actions ?? (actions ?? []).map(({ name }) => name),
    providers: (providers ?? []).filter(({ dynamic }) => dynamic).map(({ name }) => name),
  };
}
