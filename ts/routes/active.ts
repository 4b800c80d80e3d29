import { z } from "zod";
import { SLOTS } from "../active-model/slot.js";
import type { Agent } from "../agent.js";
import { readSelection, writeSelection } from "../download/selection.js";
import { changing, reading } from "./http.js";

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
  changing("POST", "/active", choice, async ({ agent }, { model, slots: wanted, overrides, remember }) => {
    const states = await agent.active.switchTo(model, {
      overrides,
      ...(wanted === undefined ? {} : { slots: wanted }),
    });
    if (remember)
      await rememberChoice(
        agent,
        model,
        states.map(({ slot }) => slot),
      );
    return { body: { slots: states } };
  }),
  changing("DELETE", "/active", part, async ({ agent }, { slot }) => {
    const states = await agent.active.unload(...(slot === undefined ? SLOTS : [slot]));
    return { body: { slots: states } };
  }),
];

async function rememberChoice({ config }: Agent, model: string, names: readonly (typeof SLOTS)[number][]) {
  const chosen = Object.fromEntries(names.map((slot) => [slot, model]));
  await writeSelection(config.modelsDir, { ...readSelection(config.modelsDir), ...chosen });
}
