import type { IAgentRuntime, Route } from "@elizaos/core";
import type { z } from "zod";
import { type Agent, agentOf } from "../agent/agent.js";
import { fromNative, invalidInput, type LocalInferenceErrorCode } from "../errors.js";
import { log } from "../support/log.js";

export type RouteRequest = Parameters<NonNullable<Route["handler"]>>[0];
export type RouteResponse = Parameters<NonNullable<Route["handler"]>>[1];
type Method = Exclude<Route["type"], "STATIC">;

/** What a route answers with; `undefined` when it has answered by itself. */
export type Answer = { readonly status?: number; readonly body: unknown } | undefined;

export interface RouteContext {
  readonly agent: Agent;
  readonly runtime: IAgentRuntime;
  readonly request: RouteRequest;
  readonly response: RouteResponse;
}

const STATUS: Partial<Record<LocalInferenceErrorCode, number>> = {
  INVALID_INPUT: 400,
  ACCESS_DENIED: 403,
  MODEL_NOT_FOUND: 404,
  BUSY: 409,
  MODEL_INVALID: 422,
  MODEL_UNSUPPORTED: 422,
  UNSUPPORTED: 422,
  OUT_OF_MEMORY: 422,
  CONTEXT_OVERFLOW: 422,
  CANCELLED: 499,
  DOWNLOAD_FAILED: 502,
  CHECKSUM_MISMATCH: 502,
  OFFLINE: 503,
  BACKEND_UNAVAILABLE: 503,
  CLOSED: 503,
  LOCAL_INFERENCE_UNAVAILABLE: 503,
  DISK_FULL: 507,
};

/** A route that changes nothing. */
export function reading(path: string, work: (context: RouteContext) => Promise<Answer>): Route {
  return route("GET", path, work);
}

/**
 * A route that changes something: for requests of this machine only, unless `LOCAL_ROUTES_REMOTE` allows others. The body
 * (of a DELETE without one, the query) is checked before `work` sees it.
 */
export function changing<T>(
  type: Exclude<Method, "GET">,
  path: string,
  schema: z.ZodType<T>,
  work: (context: RouteContext, body: T) => Promise<Answer>,
): Route {
  return route(type, path, async (context) => {
    const { request, agent } = context;
    if (!agent.config.routesRemote && !isLocal(request)) return refused();
    const given = isEmpty(request.body) && type === "DELETE" ? request.query : request.body;
    return work(context, checked(schema, given ?? {}));
  });
}

function route(type: Method, path: string, work: (context: RouteContext) => Promise<Answer>): Route {
  return {
    type,
    path,
    handler: async (request, response, runtime) => {
      try {
        const answer = await work({ agent: agentOf(runtime), runtime, request, response });
        if (answer !== undefined) response.status(answer.status ?? 200).json(answer.body);
      } catch (error) {
        if (response.headersSent) return;
        const { status, body } = failure(error, `${type} ${path}`);
        response.status(status).json(body);
      }
    },
  };
}

function failure(error: unknown, where: string): { status: number; body: unknown } {
  const { code, message, hint } = fromNative(error);
  const status = STATUS[code] ?? 500;
  if (status === 500) log("error", "A route failed.", { route: where, error: message });
  // An unexpected error may contain what remote callers must not see.
  const shown = code === "INTERNAL" ? "The request failed; the agent's log says why." : message;
  return { status, body: { error: { code, message: shown, ...(hint === undefined ? {} : { hint }) } } };
}

function refused(): Answer {
  const message = "Only programs on this machine may use this route.";
  const hint = "Set LOCAL_ROUTES_REMOTE to true to allow other machines.";
  return { status: 403, body: { error: { code: "ACCESS_DENIED", message, hint } } };
}

function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    [path.join("."), message].filter(Boolean).join(": "),
  );
  throw invalidInput(`Bad request: ${problems.join("; ")}.`);
}

function isEmpty(body: unknown): boolean {
  return body === undefined || body === null || (typeof body === "object" && Object.keys(body).length === 0);
}

/** The parts of a server's own request that core's type leaves out. */
interface ServerRequest {
  readonly socket?: { readonly remoteAddress?: string };
}

const LOOPBACK_ADDRESS = /^(127(\.\d+){3}|::1|::ffff:127(\.\d+){3})$/;
const LOOPBACK_NAME = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i;
const FORWARDING = ["forwarded", "x-forwarded-for", "x-real-ip", "via", "cf-connecting-ip"];

/**
 * Whether a request comes from a program on this machine that means it. A page of another site, opened in a browser here,
 * comes from this machine as well: its origin, or the name that it was tricked to resolve to this machine, gives it away.
 */
export function isLocal(request: RouteRequest): boolean {
  const header = (name: string) => [request.headers?.[name]].flat()[0];
  const address = (request as ServerRequest).socket?.remoteAddress;
  if (address !== undefined && !LOOPBACK_ADDRESS.test(address)) return false;
  if (FORWARDING.some((name) => header(name) !== undefined)) return false;
  if (!LOOPBACK_NAME.test(header("host") ?? "")) return false;
  const origin = header("origin");
  if (origin !== undefined && !LOOPBACK_NAME.test(origin.replace(/^https?:\/\//i, ""))) return false;
  return header("sec-fetch-site") !== "cross-site";
}
