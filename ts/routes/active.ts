import { z } from "zod";
import type { ActiveModelState } from "../active-model/active-model.js";
import type { Agent } from "../agent/agent.js";
import { readSelection, writeSelection } from "../download/selection.js";
import { offerEmbeddingsLate } from "../handlers/offer-embeddings.js";
import { ACTIVE_ROLES } from "../roles.js";
import { present } from "../support/present.js";
import { type Answer, changing, type RouteContext, reading } from "./http.js";

const roles = z.array(z.enum(ACTIVE_ROLES)).min(1).max(ACTIVE_ROLES.length);

const choice = z.strictObject({
  model: z.string().trim().min(1).max(1000),
  /** Default: what the model can do. */
  roles: roles.optional(),
  /** Checked where they are used, against what can be overridden. */
  overrides: z.record(z.string(), z.unknown()).optional(),
  /** Use it after a restart, too. */
  remember: z.boolean().default(true),
});

const part = z.strictObject({ role: z.enum(ACTIVE_ROLES).optional() });

/** The active models. */
export const activeRoutes = [
  reading("/active", async ({ agent }) => {
    return { body: { roles: agent.active.states(), chosen: readSelection(agent.config.modelsDir) } };
  }),
  changing("POST", "/active", choice, switchActive),
  changing("DELETE", "/active", part, async ({ agent }, { role }) => {
    const states = await agent.active.unload(...(role === undefined ? ACTIVE_ROLES : [role]));
    return { body: { roles: states } };
  }),
];

async function switchActive(context: RouteContext, wanted: z.infer<typeof choice>): Promise<Answer> {
  const { agent, runtime } = context;
  const { model, roles: named, overrides, remember } = wanted;
  const states = await agent.active.switchTo(model, present({ overrides, roles: named }));
  await offerEmbeddingsLate(runtime, true);
  if (remember) await rememberChoice(agent, model, states);
  return { body: { roles: states } };
}

async function rememberChoice(
  { config }: Agent,
  model: string,
  states: readonly ActiveModelState[],
): Promise<void> {
  const chosen = Object.fromEntries(states.map(({ role }) => [role, model]));
  await writeSelection(config.modelsDir, { ...readSelection(config.modelsDir), ...chosen });
}
