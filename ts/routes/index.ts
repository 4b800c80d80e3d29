import type { Route } from "@elizaos/core";
import { activeRoutes } from "./active.js";
import { downloadRoutes } from "./downloads.js";
import { metricsRoutes } from "./metrics.js";
import { modelRoutes } from "./models.js";

/** Everything below `/local-inference` of an agent's server. Paths without parameters come before those with one. */
export const routes: Route[] = [...modelRoutes, ...downloadRoutes, ...activeRoutes, ...metricsRoutes];
