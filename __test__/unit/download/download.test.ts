import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FileProgress } from "../../../ts/download/download.js";
import { downloadFixture } from "../../helpers/download.js";
import { COMMIT, sha256 } from "../../helpers/hub-server.js";

const KB = 1024;
const fixture = downloadFixture();
const { content, target, fetchIt, expectComplete } = fixture;

describe("a download", () => {
  it("arrives over several connections, verified, with nothing left beside it", async () => {
    const result = await fetchIt({ connections: 3 });
    expect(result).toMatchObject({
      bytes: content.length,
      sha256: sha256(content),
      verified: true,
      resumedFrom: 0,
    });
    expectComplete();
    expect(
      fixture.hub
        .fetched()
        .map(({ range }) => range)
        .sort(),
    ).toHaveLength(5);
    expect(fixture.hub.sent).toBe(content.length);
  });

  it("is not repeated when the file is there", async () => {
    await fetchIt();
    const before = fixture.hub.requests.length;
    const again = await fetchIt();
    expect(again).toMatchObject({ resumedFrom: content.length, verified: true });
    expect(fixture.hub.requests.length).toBe(before);
  });

  it("replaces a file of the same size with other bytes", async () => {
    writeFileSync(target(), Buffer.alloc(content.length));
    await fetchIt();
    expectComplete();
  });

  it("of an empty file makes an empty file", async () => {
    fixture.hub.put("own/repo", "m.gguf", Buffer.alloc(0));
    await fetchIt({}, { bytes: 0, sha256: sha256(Buffer.alloc(0)) });
    expect(readFileSync(target()).length).toBe(0);
  });

  it("without a known SHA-256 says that it is not verified", async () => {
    const result = await fetchIt({}, { sha256: undefined });
    expect(result).toMatchObject({ verified: false, sha256: sha256(content) });
  });

  it("tells how far it is, never backwards", async () => {
    fixture.hub.pace = { bytes: 16 * KB, milliseconds: 30 };
    const seen: FileProgress[] = [];
    await fetchIt({ connections: 2, onProgress: (progress) => seen.push(progress) });
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.every(({ totalBytes }) => totalBytes === content.length)).toBe(true);
    const received = seen.map(({ receivedBytes }) => receivedBytes);
    expect(received).toEqual([...received].sort((a, b) => a - b));
    expect(received.at(-1)).toBe(content.length);
    expect(seen.some(({ bytesPerSecond }) => bytesPerSecond > 0)).toBe(true);
  });
});

describe("a bad connection", () => {
  it("that breaks at random bytes costs only what was on its way", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 60 * KB }), { minLength: 1, maxLength: 12 }),
        async (cuts) => {
          await rm(target(), { force: true });
          fixture.hub.requests.length = 0;
          fixture.hub.fault = (_, number) =>
            cuts[number] === undefined ? undefined : { dropAfter: cuts[number] };
          await fetchIt({ connections: 2 });
          expectComplete();
        },
      ),
      { numRuns: 25 },
    );
  });

  it("continues with the byte that is missing, and only if the file is the same", async () => {
    fixture.hub.fault = (_, number) => (number === 0 ? { dropAfter: 1000 } : undefined);
    await fetchIt({ connections: 1, segmentBytes: content.length });
    const [, second] = fixture.hub.fetched();
    expect(second).toMatchObject({
      range: `bytes=1000-${content.length - 1}`,
      ifRange: `"${sha256(content)}"`,
    });
    expectComplete();
  });

  it("that falls silent is given up and continued", async () => {
    fixture.hub.fault = (_, number) => (number === 0 ? { stallAfter: 10 * KB } : undefined);
    await fetchIt({ connections: 1 }, { http: { stallMs: 150 } });
    expectComplete();
  });

  it("that never delivers ends with an error that says so, and what came is kept", async () => {
    fixture.hub.fault = (_, number) => (number === 0 ? { dropAfter: 40 * KB } : { dropAfter: 0 });
    await expect(fetchIt({ connections: 1 })).rejects.toMatchObject({ code: "DOWNLOAD_FAILED" });
    expect(existsSync(target())).toBe(false);
    fixture.hub.fault = () => undefined;
    const result = await fetchIt();
    expect(result.resumedFrom).toBeGreaterThan(0);
    expectComplete();
  });

  it.each([429, 503, 500, 408])("status %i is tried again", async (status) => {
    fixture.hub.fault = (_, number) => (number < 2 ? { status, headers: { "retry-after": "0" } } : undefined);
    await fetchIt();
    expectComplete();
  });
});

describe("cancelling", () => {
  it("stops at once, keeps what came and continues later", async () => {
    fixture.hub.pace = { bytes: 4 * KB, milliseconds: 5 };
    const controller = new AbortController();
    const running = fetchIt({
      signal: controller.signal,
      connections: 1,
      onProgress: ({ receivedBytes }) => receivedBytes > 30 * KB && controller.abort(),
    });
    await expect(running).rejects.toMatchObject({ name: "AbortError", code: "CANCELLED" });
    expect(readdirSync(fixture.folder).sort()).toEqual(["m.gguf.part", "m.gguf.part.json"]);
    fixture.hub.pace = undefined;
    const result = await fetchIt();
    expect(result.resumedFrom).toBeGreaterThan(30 * KB);
    expectComplete();
  });

  it("before the start asks for nothing", async () => {
    await expect(fetchIt({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    expect(fixture.hub.requests).toEqual([]);
  });
});

describe("what is on disk already", () => {
  it("of another version is not continued", async () => {
    writeFileSync(`${target()}.part`, Buffer.alloc(100 * KB, 1));
    const received = [[0, 100 * KB]];
    const note = { version: 1, source: "own/repo@other/m.gguf", bytes: content.length, received };
    writeFileSync(`${target()}.part.json`, JSON.stringify(note));
    const result = await fetchIt();
    expect(result.resumedFrom).toBe(0);
    expectComplete();
  });

  it.each(["", "{", '{"version":2}', "null", '{"version":1,"received":[[9,1]]}'])(
    "with the note %j starts anew",
    async (note) => {
      writeFileSync(`${target()}.part`, Buffer.alloc(100 * KB, 1));
      writeFileSync(`${target()}.part.json`, note);
      await fetchIt();
      expectComplete();
    },
  );

  it("that claims more bytes than the file has is not believed", async () => {
    const identity = { source: `own/repo@${COMMIT}/m.gguf`, bytes: content.length, sha256: sha256(content) };
    writeFileSync(`${target()}.part`, content.subarray(0, 10 * KB));
    writeFileSync(
      `${target()}.part.json`,
      JSON.stringify({ version: 1, ...identity, received: [[0, 200 * KB]] }),
    );
    const result = await fetchIt();
    expect(result.resumedFrom).toBe(10 * KB);
    expectComplete();
  });

  it("is never written through a link that someone put there", async () => {
    const victim = join(fixture.folder, "victim");
    writeFileSync(victim, "precious");
    symlinkSync(victim, `${target()}.part`);
    await expect(fetchIt()).rejects.toThrow();
    expect(readFileSync(victim, "utf8")).toBe("precious");
  });
});
