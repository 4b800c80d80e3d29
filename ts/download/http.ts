import { LocalInferenceError } from "../errors.js";
import { redacted, shownUrl } from "./redact.js";
import { retryAfterMs, TransientError } from "./retry.js";

export interface HttpOptions {
  /** The one origin that the token is sent to. */
  readonly baseUrl: string;
  readonly token?: string;
  /** Refuse every request. */
  readonly offline?: boolean;
  /** Milliseconds without a byte after which a connection is given up. Default 30,000. */
  readonly stallMs?: number;
  /** Default: the process's; read for HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
  readonly environment?: NodeJS.ProcessEnv;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Where the redirects led. */
  readonly url: URL;
  /** The bytes as they come. Leaving the loop closes the connection. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Closes the connection without reading. */
  discard(): void;
}

interface Exchange {
  readonly response: Response;
  readonly controller: AbortController;
  readonly release: () => void;
}

const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/i;

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/** Sends requests; knows what may be sent where. */
export class Http {
  readonly baseUrl: URL;
  readonly #options: HttpOptions;
  #fetch: Promise<Fetch> | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.baseUrl = new URL(options.baseUrl.endsWith("/") ? options.baseUrl : `${options.baseUrl}/`);
  }

  get hasToken(): boolean {
    return this.#options.token !== undefined;
  }

  /** A text without the token and without credentials in addresses. */
  shown(text: string): string {
    return redacted(text, [this.#options.token]);
  }

  /**
   * Sends a GET and follows redirects. Every status below 300 and those from 400 on are answers.
   *
   * @throws LocalInferenceError `OFFLINE`, `DOWNLOAD_FAILED`; TransientError when the connection failed.
   */
  async get(address: URL, headers: Record<string, string>, signal?: AbortSignal): Promise<Answer> {
    if (this.#options.offline) throw offline(address);
    let url = address;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const exchange = await this.#send(url, headers, signal);
      const location = exchange.response.headers.get("location");
      if (!REDIRECTS.includes(exchange.response.status) || location === null)
        return answer(exchange, url, this);
      exchange.release();
      exchange.controller.abort();
      url = redirectTarget(location, url);
    }
    throw failed(`${shownUrl(address)} was redirected more than ${MAX_REDIRECTS} times.`);
  }

  async #send(url: URL, headers: Record<string, string>, signal: AbortSignal | undefined): Promise<Exchange> {
    const fetch = await this.#client();
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal?.addEventListener("abort", abort, { once: true });
    const release = () => signal?.removeEventListener("abort", abort);
    const timer = setTimeout(abort, this.stallMs);
    try {
      if (signal?.aborted) controller.abort();
      const response = await fetch(url, {
        // A compressed answer would make byte ranges mean something else.
        headers: { "accept-encoding": "identity", ...headers, ...this.#authorization(url) },
        redirect: "manual",
        signal: controller.signal,
      });
      return { response, controller, release };
    } catch (error) {
      release();
      throw this.transient(error, url);
    } finally {
      clearTimeout(timer);
    }
  }

  get stallMs(): number {
    return this.#options.stallMs ?? 30_000;
  }

  /** What broke a connection, in words that hold no secret. */
  transient(error: unknown, url: URL): TransientError {
    const name = error instanceof Error ? error.name : "";
    const reason = name === "AbortError" ? `no answer for ${this.stallMs / 1000} s` : reasonOf(error);
    return new TransientError(this.shown(`${shownUrl(url)}: ${reason}`));
  }

  #authorization(url: URL): Record<string, string> {
    const { token } = this.#options;
    if (token === undefined || url.origin !== this.baseUrl.origin) return {};
    // In the clear, everyone on the way could read it.
    if (url.protocol !== "https:" && !LOOPBACK.test(url.hostname)) return {};
    return { authorization: `Bearer ${token}` };
  }

  #client(): Promise<Fetch> {
    this.#fetch ??= this.#load();
    return this.#fetch;
  }

  /** Loaded on the first request. undici's own `fetch`, because Node's does not take the proxy from the environment. */
  async #load(): Promise<Fetch> {
    const { EnvHttpProxyAgent, fetch } = await import("undici");
    const environment = this.#options.environment ?? process.env;
    const of = (name: string) => environment[name.toLowerCase()] ?? environment[name];
    const httpProxy = of("HTTP_PROXY");
    const httpsProxy = of("HTTPS_PROXY") ?? of("ALL_PROXY");
    const dispatcher = new EnvHttpProxyAgent({
      ...(httpProxy === undefined ? {} : { httpProxy }),
      ...(httpsProxy === undefined ? {} : { httpsProxy }),
      noProxy: of("NO_PROXY") ?? "",
      // Silence is timed here, for the headers and for every piece of the body.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: Math.min(this.stallMs, 20_000) },
    });
    return (url, init) =>
      fetch(url, { ...init, dispatcher } as Parameters<typeof fetch>[1]) as unknown as Promise<Response>;
  }
}

function answer({ response, controller, release }: Exchange, url: URL, http: Http): Answer {
  return {
    status: response.status,
    headers: response.headers as Headers,
    url,
    body: bytes(response, controller, release, url, http),
    discard: () => {
      release();
      controller.abort();
    },
  };
}

async function* bytes(
  response: Response,
  controller: AbortController,
  release: () => void,
  url: URL,
  http: Http,
): AsyncGenerator<Uint8Array, void, undefined> {
  let timer: NodeJS.Timeout | undefined;
  const watch = () => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(), http.stallMs);
  };
  try {
    watch();
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      clearTimeout(timer);
      yield chunk;
      watch();
    }
  } catch (error) {
    throw http.transient(error, url);
  } finally {
    clearTimeout(timer);
    release();
    controller.abort();
  }
}

/** The whole body of a small answer. @throws LocalInferenceError `DOWNLOAD_FAILED` when it is larger than `limit`. */
export async function textOf(answer: Answer, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    size += chunk.byteLength;
    if (size > limit) throw failed(`${shownUrl(answer.url)} answered with more than ${limit} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The error of a status that says "later"; undefined for every other one. */
export function transientStatus(answer: Answer): TransientError | undefined {
  if (answer.status < 500 && ![408, 425, 429].includes(answer.status)) return undefined;
  const wait = retryAfterMs(answer.headers.get("retry-after"));
  return new TransientError(`${shownUrl(answer.url)} answered ${answer.status}`, wait);
}

/** Where a redirect leads. @throws LocalInferenceError `DOWNLOAD_FAILED` for anything but http and https, or to the former from the latter. */
export function redirectTarget(location: string, from: URL): URL {
  const to = new URL(location, from);
  const secure = to.protocol === "https:" || LOOPBACK.test(to.hostname);
  if (!/^https?:$/.test(to.protocol) || (from.protocol === "https:" && !secure)) {
    throw failed(`${shownUrl(from)} redirects to ${to.protocol}//${to.host}, which is not secure.`);
  }
  return to;
}

function offline(address: URL): LocalInferenceError {
  return new LocalInferenceError("OFFLINE", `${address.host} was not asked: this agent is offline.`, {
    hint: "Set LOCAL_INFERENCE_OFFLINE to false to allow downloads.",
  });
}

export function failed(message: string, cause?: unknown): LocalInferenceError {
  return new LocalInferenceError("DOWNLOAD_FAILED", message, cause === undefined ? {} : { cause });
}

/** The innermost reason: fetch wraps it in "fetch failed". */
function reasonOf(error: unknown): string {
  let reason = String(error);
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as NodeJS.ErrnoException;
    reason = current.message === "" ? (code ?? current.name) : current.message;
  }
  return reason;
}
