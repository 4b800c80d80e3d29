import { metricsOf } from "../agent/metrics.js";
import { isOver } from "../download/jobs.js";
import { memoryArbiter } from "../engine/memory/shared.js";
import { contextReports, residentCount } from "../engine/residents.js";
import { reading } from "./http.js";

/** What the engine does and has done. */
export const metricsRoutes = [
  reading("/metrics", async ({ agent, runtime }) => {
    const { rss, external, arrayBuffers } = process.memoryUsage();
    return {
      body: {
        activeRequests: agent.engine.active,
        modelsInMemory: residentCount(),
        downloads: agent.jobs.list().filter((job) => !isOver(job)).length,
        process: {
          residentBytes: rss,
          externalBytes: external,
          arrayBufferBytes: arrayBuffers,
          uptimeSeconds: process.uptime(),
        },
        memory: memoryArbiter().snapshot(),
        contexts: contextReports(),
        types: metricsOf(runtime),
        prompts: agent.prompts.costs.all(),
      },
    };
  }),
];
