import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** How one request for a file goes wrong. */
export interface Fault {
  /** Answer with this status and nothing else. */
  status?: number;
  headers?: Record<string, string>;
  /** Send the whole file in answer to a range. */
  ignoreRange?: boolean;
  /** Close the connection after this many bytes of the body. */
  dropAfter?: number;
  /** Send this many bytes, then nothing more, and keep the connection open. */
  stallAfter?: number;
  /** Send other bytes than the file's, as many as asked for. */
  wrongBytes?: boolean;
  /** The tag of this answer. */
  etag?: string;
  /** Added to the size that Content-Range or Content-Length states. */
  lieAboutLength?: number;
  /** Send more bytes than asked for. */
  surplus?: number;
  redirect?: string;
}

export interface Seen {
  path: string;
  range?: string;
  ifRange?: string;
  authorization?: string;
  host?: string;
}

export interface TestHub {
  readonly url: string;
  readonly port: number;
  readonly requests: Seen[];
  /** Bytes of file bodies handed to the network. */
  sent: number;
  /** Called for every request of a file; the first is number 0. */
  fault: (request: Seen, number: number) => Fault | undefined;
  /** Called for every request of a description. */
  describe: (request: Seen) => Fault | undefined;
  gated: boolean;
  /** Bytes for each write, and milliseconds between two. */
  pace: { bytes: number; milliseconds: number } | undefined;
  put(repository: string, path: string, content: Buffer, options?: { lfs?: boolean; sha256?: string }): void;
  /** Requests of file bodies. */
  fetched(): Seen[];
  close(): Promise<void>;
}

interface Stored {
  content: Buffer;
  lfs: boolean;
  sha256: string;
}

export const COMMIT = "0123456789abcdef0123456789abcdef01234567";

export const sha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

/** A hub with the interface of Hugging Face on the loopback, which fails as it is told. */
export async function startHub(): Promise<TestHub> {
  const repositories = new Map<string, Map<string, Stored>>();
  const server = createServer((request, response) => void serve(hub, repositories, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const requests: Seen[] = [];
  const hub: TestHub = {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    sent: 0,
    fault: () => undefined,
    describe: () => undefined,
    gated: false,
    pace: undefined,
    put(repository, path, content, options = {}) {
      const files = repositories.get(repository) ?? new Map<string, Stored>();
      repositories.set(repository, files);
      files.set(path, { content, lfs: options.lfs ?? true, sha256: options.sha256 ?? sha256(content) });
    },
    fetched: () => requests.filter(({ path }) => !path.startsWith("/api/")),
    close: () => close(server),
  };
  return hub;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function serve(
  hub: TestHub,
  repositories: Map<string, Map<string, Stored>>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  const { range, authorization, host } = request.headers;
  const url = new URL(request.url ?? "/", hub.url);
  const ifRange = request.headers["if-range"] as string | undefined;
  const seen: Seen = {
    path: url.pathname,
    ...(range === undefined ? {} : { range }),
    ...(ifRange === undefined ? {} : { ifRange }),
    ...(authorization === undefined ? {} : { authorization }),
    ...(host === undefined ? {} : { host }),
  };
  const number = hub.fetched().length;
  hub.requests.push(seen);
  response.on("error", () => {});
  const described = /^\/api\/models\/([^/]+\/[^/]+)\/revision\/([^/]+)$/.exec(url.pathname);
  if (described !== null) return describe(hub, repositories.get(described[1] ?? ""), seen, response);
  const match = /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname);
  const stored = repositories.get(match?.[1] ?? "")?.get(decodeURIComponent(match?.[3] ?? ""));
  const fault = hub.fault(seen, number) ?? {};
  if (fault.redirect !== undefined) return end(response, 302, { location: fault.redirect });
  if (fault.status !== undefined) return end(response, fault.status, fault.headers ?? {});
  if (stored === undefined) return end(response, 404, { "x-error-code": "EntryNotFound" });
  return send(hub, stored, fault, seen, response);
}

function describe(
  hub: TestHub,
  files: Map<string, Stored> | undefined,
  seen: Seen,
  response: ServerResponse,
): ServerResponse {
  const fault = hub.describe(seen);
  if (fault?.status !== undefined) return end(response, fault.status, fault.headers ?? {});
  if (files === undefined) return end(response, 401, { "x-error-code": "RepoNotFound" });
  const siblings = [...files].map(([rfilename, { content, lfs, sha256 }]) => ({
    rfilename,
    size: content.length,
    ...(lfs ? { lfs: { sha256, size: content.length, pointerSize: 134 } } : {}),
  }));
  response.writeHead(200, { "content-type": "application/json" });
  return response.end(
    JSON.stringify({ sha: COMMIT, gated: hub.gated && "auto", cardData: { license: "mit" }, siblings }),
  );
}

function end(response: ServerResponse, status: number, headers: Record<string, string>): ServerResponse {
  return response.writeHead(status, headers).end();
}

async function send(
  hub: TestHub,
  { content, sha256 }: Stored,
  fault: Fault,
  seen: Seen,
  response: ServerResponse,
): Promise<unknown> {
  const etag = fault.etag ?? `"${sha256}"`;
  const whole = fault.ignoreRange || (seen.ifRange !== undefined && seen.ifRange !== etag);
  const [start, last] = whole ? [0, content.length - 1] : rangeOf(seen.range, content.length);
  if (start >= content.length && content.length > 0) {
    return end(response, 416, { "content-range": `bytes */${content.length}` });
  }
  const body = Buffer.from(content.subarray(start, last + 1));
  if (fault.wrongBytes) body.fill(0x21);
  const lie = fault.lieAboutLength ?? 0;
  const partial = !whole && seen.range !== undefined;
  response.writeHead(partial ? 206 : 200, {
    etag,
    ...(partial ? { "content-range": `bytes ${start}-${last}/${content.length + lie}` } : {}),
    ...(fault.surplus === undefined ? { "content-length": String(body.length + (partial ? 0 : lie)) } : {}),
  });
  const all = fault.surplus === undefined ? body : Buffer.concat([body, Buffer.alloc(fault.surplus, 0x7a)]);
  await write(hub, all.subarray(0, fault.dropAfter ?? fault.stallAfter ?? all.length), response);
  if (fault.dropAfter !== undefined) return response.destroy();
  return fault.stallAfter === undefined ? response.end() : undefined;
}

async function write(hub: TestHub, body: Buffer, response: ServerResponse): Promise<void> {
  const step = hub.pace?.bytes ?? (body.length || 1);
  for (let at = 0; at < body.length && !response.destroyed; at += step) {
    const piece = body.subarray(at, at + step);
    hub.sent += piece.length;
    await new Promise<void>((resolve) => response.write(piece, () => resolve()));
    if (hub.pace !== undefined) await new Promise((resolve) => setTimeout(resolve, hub.pace?.milliseconds));
  }
}

function rangeOf(header: string | undefined, size: number): [number, number] {
  const match = /^bytes=(\d+)-(\d*)$/.exec(header ?? "");
  if (match === null) return [0, size - 1];
  return [Number(match[1]), match[2] ? Math.min(Number(match[2]), size - 1) : size - 1];
}

/** Bytes that look like a model file to a glance at the first four, and are random otherwise; the same for a seed. */
export function pseudoGguf(size: number, seed = 1): Buffer {
  const content = Buffer.alloc(size);
  let state = seed >>> 0 || 1;
  for (let at = 0; at < size; at += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    content[at] = state >>> 24;
  }
  content.write("GGUF", 0, "latin1");
  return content;
}
