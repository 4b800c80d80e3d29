import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { IAgentRuntime, Route } from "@elizaos/core";

export interface RouteServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves an agent's routes over HTTP the way elizaOS's own server does: JSON bodies, path parameters, decoded queries. */
export async function serveRoutes(runtime: IAgentRuntime): Promise<RouteServer> {
  const server = createServer((request, response) => void answer(runtime, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(runtime: IAgentRuntime, request: IncomingMessage, raw: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "http://x");
  const found = match(runtime.routes, request.method ?? "GET", url.pathname);
  const response = likeExpress(raw);
  if (found === undefined) return void response.status(404).json({ error: "no such route" });
  const body = await bodyOf(request);
  if (body === malformed) return void response.status(400).json({ error: "no JSON" });
  // The server's own request object is passed on, with what its framework adds.
  const full = Object.assign(request, {
    body,
    params: found.params,
    query: Object.fromEntries(url.searchParams),
  });
  await found.route.handler?.(full as never, response as never, runtime);
}

function match(routes: readonly Route[], method: string, path: string) {
  for (const route of routes) {
    const names: string[] = [];
    const pattern = route.path.replace(/:(\w+)/g, (_, name: string) => {
      names.push(name);
      return "([^/]+)";
    });
    const values = new RegExp(`^${pattern}$`).exec(path);
    if (route.type !== method || values === null) continue;
    const params = Object.fromEntries(
      names.map((name, index) => [name, decodeURIComponent(values[index + 1] ?? "")]),
    );
    return { route, params };
  }
  return undefined;
}

const malformed = Symbol("malformed");

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  if (text === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return malformed;
  }
}

function likeExpress(raw: ServerResponse) {
  return Object.assign(raw, {
    status(code: number) {
      raw.statusCode = code;
      return raw;
    },
    json(value: unknown) {
      raw.setHeader("content-type", "application/json");
      raw.end(JSON.stringify(value));
      return raw;
    },
    send(value: unknown) {
      raw.end(String(value));
      return raw;
    },
  }) as unknown as { status(code: number): { json(value: unknown): unknown } };
}
