import { z } from "zod";
import { SLOTS, type SlotState } from "../active-model/slot.js";
import type { Agent } from "../agent/agent.js";
import { readSelection, writeSelection } from "../download/selection.js";
import { offerEmbeddingsLate } from "../handlers/offer-embeddings.js";
import { present } from "../support/present.js";
import { type Answer, changing, type RouteContext, reading } from "./http.js";

const slots = z.array(z.enum(SLOTS)).min(1).max(SLOTS.length);

const choice = z.strictObject({
  model: z.string().trim().min(1).max(1000),
  /** Default: what the model can do. */
  slots: slots.optional(),
  /** Checked where they are used, against what can be overridden. */
  overrides: z.record(z.string(), z.unknown()).optional(),
  /** Use it after a restart, too. */
  remember: z.boolean().default(true),
});

const part = z.strictObject({ slot: z.enum(SLOTS).optional() });

/** The models in use. */
export const activeRoutes = [
  reading("/active", async ({ agent }) => {
    return { body: { slots: agent.active.states(), chosen: readSelection(agent.config.modelsDir) } };
  }),
  changing("POST", "/active", choice, switchActive),
  changing("DELETE", "/active", part, async ({ agent }, { slot }) => {
    const states = await agent.active.unload(...(slot === undefined ? SLOTS : [slot]));
    return { body: { slots: states } };
  }),
];

async function switchActive(context: RouteContext, wanted: z.infer<typeof choice>): Promise<Answer> {
  const { agent, runtime } = context;
  const { model, slots: named, overrides, remember } = wanted;
  const states = await agent.active.switchTo(model, present({ overrides, slots: named }));
  await offerEmbeddingsLate(runtime, true);
  if (remember) await rememberChoice(agent, model, states);
  return { body: { slots: states } };
}

async function rememberChoice({ config }: Agent, model: string, states: readonly SlotState[]): Promise<void> {
  const chosen = Object.fromEntries(states.map(({ slot }) => [slot, model]));
  await writeSelection(config.modelsDir, { ...readSelection(config.modelsDir), ...chosen });
}
