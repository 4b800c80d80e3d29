import { z } from "zod";
import { LocalInferenceError } from "../errors.js";
import { machineView } from "../views/machine.js";
import { catalogLines, fitterOf, installedLine, recommendationView } from "../views/models.js";
import { changing, type RouteContext, reading } from "./http.js";

const named = z.strictObject({ id: z.string().min(1).max(1000) });

/** The machine, the catalog and the installed models. */
export const modelRoutes = [
  reading("/hardware", async () => ({ body: await machineView() })),
  reading("/catalog", async ({ agent }) => {
    const installed = await agent.store.installed();
    // Lists the catalog even where the addon cannot be loaded.
    const fitter = await fitterOf(agent.config).catch(() => undefined);
    return { body: { models: catalogLines(installed, fitter) } };
  }),
  reading("/recommendation", async ({ agent }) => ({ body: await recommendationView(agent.config) })),
  reading("/installed", async ({ agent }) => {
    return { body: { models: (await agent.store.installed()).map(installedLine) } };
  }),
  changing("DELETE", "/installed", named, async (context, { id }) => {
    const model = await requireInstalled(context, id);
    const { files, bytes } = await context.agent.remove(model);
    return { body: { removed: model.id, files, freedBytes: bytes } };
  }),
  changing("POST", "/installed/verify", named, async (context, { id }) => {
    return { body: await context.agent.store.verify(await requireInstalled(context, id)) };
  }),
];

async function requireInstalled({ agent }: RouteContext, id: string) {
  const model = await agent.store.findInstalled(id);
  if (model !== undefined) return model;
  throw new LocalInferenceError("MODEL_NOT_FOUND", `${id} is not installed.`, {
    hint: "GET /local-inference/installed lists the ids of installed models.",
  });
}
