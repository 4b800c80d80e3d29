import { z } from "zod";
import type { Job } from "../download/jobs.js";
import { wantedByText } from "../download/wanted.js";
import { LocalInferenceError } from "../errors.js";
import { COMPANION_ROLES } from "../roles.js";
import { installedLine } from "../views/models.js";
import { type Answer, changing, type RouteContext, type RouteResponse, reading } from "./http.js";

const wanted = z.strictObject({
  model: z.string().trim().min(1).max(1000),
  companions: z.array(z.enum(COMPANION_ROLES)).max(COMPANION_ROLES.length).optional(),
});

/** Downloads in progress and the last ones that ended. */
export const downloadRoutes = [
  reading("/downloads", async ({ agent }) => ({ body: { downloads: agent.jobs.list().map(shown) } })),
  reading("/downloads/stream", stream),
  reading("/downloads/:id", async ({ agent, request }) => {
    const job = agent.jobs.get(request.params?.id ?? "");
    if (job === undefined) throw unknownJob(request.params?.id);
    return { body: shown(job) };
  }),
  changing("POST", "/downloads", wanted, async ({ agent }, { model, companions }) => {
    if (agent.config.offline) {
      throw new LocalInferenceError("OFFLINE", "This agent is offline and downloads nothing.", {
        hint: "Set LOCAL_INFERENCE_OFFLINE to false.",
      });
    }
    return { status: 202, body: shown(agent.jobs.start(wantedByText(model, companions))) };
  }),
  changing("DELETE", "/downloads/:id", z.unknown(), async ({ agent, request }) => {
    const id = request.params?.id ?? "";
    if (agent.jobs.get(id) === undefined) throw unknownJob(id);
    return { body: { id, cancelled: agent.jobs.cancel(id) } };
  }),
];

function shown(job: Job): unknown {
  return job.installed === undefined ? job : { ...job, installed: installedLine(job.installed) };
}

function unknownJob(id: string | undefined): LocalInferenceError {
  return new LocalInferenceError("MODEL_NOT_FOUND", `There is no download ${JSON.stringify(id ?? "")}.`);
}

/** The parts of a server's own response that core's type leaves out. */
interface StreamingResponse extends RouteResponse {
  write?(text: string): boolean;
  flushHeaders?(): void;
  on?(event: "close" | "drain", listener: () => void): unknown;
}

const HEARTBEAT_MS = 15_000;

/**
 * Server-sent events: one `download` for each job that there is, then one for each change. A reader that is slower than
 * the changes misses some that are not the last one of a job.
 */
async function stream({ agent, response }: RouteContext): Promise<Answer> {
  const events: StreamingResponse = response;
  const jobs = agent.jobs;
  if (events.write === undefined || events.on === undefined)
    return { body: { downloads: jobs.list().map(shown) } };
  events.status(200);
  events.setHeader?.("content-type", "text/event-stream; charset=utf-8");
  events.setHeader?.("cache-control", "no-cache, no-transform");
  events.setHeader?.("x-accel-buffering", "no");
  events.flushHeaders?.();
  let ready = true;
  const write = (text: string) => {
    ready = events.write?.(text) ?? true;
  };
  const send = (job: Job) => {
    if (ready || job.endedAt !== undefined) write(`event: download\ndata: ${JSON.stringify(shown(job))}\n\n`);
  };
  events.on("drain", () => {
    ready = true;
  });
  const heartbeat = setInterval(() => write(": still here\n\n"), HEARTBEAT_MS).unref();
  const leave = jobs.subscribe(send);
  events.on("close", () => {
    clearInterval(heartbeat);
    leave();
  });
  write(": downloads\n\n");
  for (const job of jobs.list()) send(job);
  return undefined;
}
