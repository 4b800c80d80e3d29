import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { downloadFile } from "../../../ts/download/download.js";
import { Http, type HttpOptions, redirectTarget, textOf } from "../../../ts/download/http.js";
import { safeName, safeRelativePath } from "../../../ts/download/paths.js";
import { Ranges } from "../../../ts/download/ranges.js";
import { redacted } from "../../../ts/download/redact.js";
import { hubReference, referenceText } from "../../../ts/download/reference.js";
import { delayBefore, retryAfterMs } from "../../../ts/download/retry.js";
import { COMMIT, pseudoGguf, sha256, startHub, type TestHub } from "../../helpers/hub-server.js";

const content = pseudoGguf(200 * 1024, 4);

let hub: TestHub;
let folder: string;
beforeEach(async () => {
  hub = await startHub();
  hub.put("own/repo", "m.gguf", content);
  folder = await mkdtemp(join(tmpdir(), "network-"));
});
afterEach(async () => {
  await hub.close();
  await rm(folder, { recursive: true, force: true });
});

const url = () => new URL(`${hub.url}/own/repo/resolve/${COMMIT}/m.gguf`);

function fetchTo(destination: string, http: Partial<HttpOptions> = {}, onProgress = () => {}) {
  const client = new Http({ baseUrl: hub.url, environment: {}, ...http });
  const file = { url: url(), destination, source: "m", bytes: content.length, sha256: sha256(content) };
  const refusal = () => new Error("refused");
  const retry = { attempts: 2, baseDelayMs: 1, maxDelayMs: 2 };
  return downloadFile(client, { ...file, refusal }, { reserveBytes: 0, retry, connections: 1, onProgress });
}

/** A proxy that opens tunnels and counts them; with a port, all of them lead to this machine. */
async function startProxy(here?: number): Promise<{ url: string; tunnels: string[]; server: Server }> {
  const tunnels: string[] = [];
  const server = createServer();
  server.on("connect", (request, socket) => {
    tunnels.push(`${request.url} ${request.headers["proxy-authorization"] ?? "nobody"}`);
    const [host = "", port = ""] = (request.url ?? "").split(":");
    const upstream = connect(here ?? Number(port), here === undefined ? host : "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [upstream, socket]) end.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `127.0.0.1:${(server.address() as AddressInfo).port}`, tunnels, server };
}

describe("a proxy", () => {
  it.each([["HTTP_PROXY"], ["http_proxy"]])("named by %s is used, with its credentials", async (name) => {
    const proxy = await startProxy();
    await fetchTo(join(folder, "m.gguf"), { environment: { [name]: `http://me:word@${proxy.url}` } });
    expect(proxy.tunnels[0]).toBe(`127.0.0.1:${hub.port} Basic ${Buffer.from("me:word").toString("base64")}`);
    expect(readFileSync(join(folder, "m.gguf")).equals(content)).toBe(true);
    proxy.server.closeAllConnections();
    proxy.server.close();
  });

  it("is left out for what NO_PROXY names", async () => {
    const proxy = await startProxy();
    const environment = { HTTP_PROXY: `http://${proxy.url}`, NO_PROXY: "localhost,127.0.0.1" };
    await fetchTo(join(folder, "m.gguf"), { environment });
    expect(proxy.tunnels).toEqual([]);
    proxy.server.close();
  });
});

describe("requests", () => {
  it("with a token do not send it in the clear to another machine, but do to this one", async () => {
    const proxy = await startProxy(hub.port);
    const environment = { HTTP_PROXY: `http://${proxy.url}` };
    for (const baseUrl of ["http://hub.example", hub.url]) {
      const http = new Http({ baseUrl, token: "hf_secret", environment });
      (await http.get(new URL("/x", baseUrl), {})).discard();
    }
    const seen = hub.requests.map(({ host, authorization }) => [host, authorization]);
    expect(seen).toEqual([
      ["hub.example", undefined],
      [`127.0.0.1:${hub.port}`, "Bearer hf_secret"],
    ]);
    proxy.server.closeAllConnections();
    proxy.server.close();
  });

  it("from a secure place do not follow a redirect to an insecure one", () => {
    const hubFile = new URL("https://hub.example/own/repo/resolve/main/m.gguf?x=1");
    expect(redirectTarget("https://cdn.example/f?sig=1", hubFile).href).toBe("https://cdn.example/f?sig=1");
    expect(redirectTarget("/moved", hubFile).href).toBe("https://hub.example/moved");
    for (const bad of ["http://cdn.example/f?sig=secret", "file:///etc/passwd", "ftp://cdn.example/f"]) {
      const follow = () => redirectTarget(bad, hubFile);
      expect(follow).toThrow("which is not secure");
      expect(follow).not.toThrow("secret");
    }
  });

  it("whose answer is larger than it may be are given up", async () => {
    const http = new Http({ baseUrl: hub.url, environment: {} });
    const answer = await http.get(url(), {});
    await expect(textOf(answer, 1000)).rejects.toMatchObject({ code: "DOWNLOAD_FAILED" });
  });
});

describe("a disk that becomes full", () => {
  it("ends the download with what to do, and it continues when there is room again", async (context) => {
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], {
      encoding: "utf8",
    });
    if (mounted.status !== 0) {
      console.log(`not run: a small file system cannot be mounted here: ${mounted.stderr.trim()}`);
      return context.skip();
    }
    try {
      const filler = join(folder, "filler");
      hub.pace = { bytes: 8192, milliseconds: 5 };
      const fill = () => {
        if (!existsSync(filler)) writeFileSync(filler, Buffer.alloc(280 * 1024));
      };
      const target = join(folder, "m.gguf");
      await expect(fetchTo(target, {}, fill)).rejects.toMatchObject({
        code: "DISK_FULL",
        hint: expect.stringContaining("continues where it stopped"),
      });
      await expect(fetchTo(target)).rejects.toMatchObject({ code: "DISK_FULL" });
      rmSync(filler);
      hub.pace = undefined;
      const { resumedFrom } = await fetchTo(target);
      expect(resumedFrom).toBeGreaterThan(0);
      expect(readFileSync(target).equals(content)).toBe(true);
    } finally {
      spawnSync("umount", [folder]);
    }
  });
});

describe("ranges", () => {
  const pair = fc.tuple(fc.nat(200), fc.nat(60)).map(([start, length]) => [start, start + length] as const);

  it("know exactly the bytes that were added", () => {
    fc.assert(
      fc.property(fc.array(pair), fc.integer({ min: 1, max: 40 }), (added, limit) => {
        const ranges = Ranges.of(added);
        const bytes = new Set(
          added.flatMap(([start, end]) => Array.from({ length: end - start }, (_, i) => start + i)),
        );
        expect(ranges.total).toBe(bytes.size);
        let prefix = 0;
        while (bytes.has(prefix)) prefix += 1;
        expect(ranges.prefix).toBe(prefix);
        const missing = ranges.missing(300, limit);
        for (const [start, end] of missing) {
          expect(end - start).toBeLessThanOrEqual(limit);
          for (let at = start; at < end; at += 1) expect(bytes.delete(at)).toBe(false);
        }
        expect(missing.reduce((sum, [start, end]) => sum + end - start, 0)).toBe(300 - ranges.total);
        expect(Ranges.of(JSON.parse(JSON.stringify(ranges)) as [number, number][]).toJSON()).toEqual(
          ranges.toJSON(),
        );
      }),
    );
  });
});

describe("names", () => {
  it("are safe whatever they were", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "binary" }), (name) => {
        const safe = safeName(name);
        expect(safe).not.toMatch(/[/\\<>:"|?*]|\p{Cc}(?<![\x80-\x9f])/u);
        expect(safe).not.toMatch(/[. ]$/);
        expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(200);
        expect(safeName(safe)).toBe(safe);
      }),
    );
  });

  it("of ordinary files are kept", () => {
    expect(safeRelativePath("bundles/e2b/text/eliza-1-e2b-128k.gguf")).toBe(
      join("bundles", "e2b", "text", "eliza-1-e2b-128k.gguf"),
    );
    expect(safeName("Qwen3-Übung (v2).Q4_K_M.gguf")).toBe("Qwen3-Übung (v2).Q4_K_M.gguf");
    expect(safeName("x".repeat(400).concat(".gguf"))).toMatch(/\.gguf$/);
  });

  it("of models on the hub are read and written the same", () => {
    for (const text of ["hf:own/repo", "hf:own/repo/a/b.gguf", "hf:own/repo@v1.0/b.gguf"]) {
      const reference = hubReference(text);
      if (reference === undefined) throw new Error(text);
      expect(referenceText(reference)).toBe(text);
    }
    expect(hubReference("tiny")).toBeUndefined();
    expect(hubReference("/models/x.gguf")).toBeUndefined();
  });
});

describe("waiting", () => {
  it("doubles up to a limit, is never the same for all, and minds the server", () => {
    const options = { attempts: 9, baseDelayMs: 100, maxDelayMs: 1000 };
    for (const [attempt, full] of [
      [2, 100],
      [3, 200],
      [4, 400],
      [9, 1000],
    ] as const) {
      const delays = Array.from({ length: 50 }, () => delayBefore(attempt, options));
      expect(Math.min(...delays)).toBeGreaterThanOrEqual(full / 2);
      expect(Math.max(...delays)).toBeLessThanOrEqual(full);
      expect(new Set(delays).size).toBeGreaterThan(10);
    }
    expect(delayBefore(2, options, 700)).toBe(700);
    expect(delayBefore(2, options, 90_000)).toBe(1000);
  });

  it("reads seconds and dates", () => {
    expect(retryAfterMs("3")).toBe(3000);
    expect(retryAfterMs("Wed, 21 Oct 2015 07:28:10 GMT", Date.UTC(2015, 9, 21, 7, 28, 0))).toBe(10_000);
    expect(retryAfterMs("soon")).toBeUndefined();
    expect(retryAfterMs(null)).toBeUndefined();
  });
});

it("credentials are taken out of any text", () => {
  const text = "GET https://me:word@host/x?Signature=abc failed with hf_abcdefghijkl and s3cret";
  expect(redacted(text, ["s3cret"])).toBe("GET https://host/x failed with [secret] and [secret]");
});
