import type { ChildProcess } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { withLock } from "../../../ts/download/lock.js";
import { Ranges } from "../../../ts/download/ranges.js";
import { Children } from "../../helpers/children.js";
import { COMMIT, pseudoGguf, sha256, startHub, type TestHub } from "../../helpers/hub-server.js";
import type { Order } from "./child.js";

const KB = 1024;
const KILLS = 200;
/** Files that become whole all the same: more rounds are made where a busy machine completes fewer. */
const FILES = 5;
/** Downloads at the same time: while one is being killed another one runs. */
const LANES = 3;

let children: Children;
beforeAll(async () => {
  children = await Children.of(fileURLToPath(new URL("child.ts", import.meta.url)), LANES);
});
afterAll(() => children.close());

let hub: TestHub;
let folder: string;
beforeEach(async () => {
  hub = await startHub();
  folder = await mkdtemp(join(tmpdir(), "processes-"));
});
afterEach(async () => {
  await hub.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(name: string, content: Buffer, connections = 2): Promise<ChildProcess> {
  const order: Order = {
    url: `${hub.url}/own/repo/resolve/${COMMIT}/${name}`,
    destination: join(folder, name),
    source: `own/repo@${COMMIT}/${name}`,
    bytes: content.length,
    sha256: sha256(content),
    connections,
  };
  const child = await children.take();
  child.send(order);
  return child;
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once("close", (code) => resolve(code)));
}

/** The bytes that the note claims; every one of them must be the file's. */
function checkNote(name: string, content: Buffer): number {
  const part = join(folder, `${name}.part`);
  if (!existsSync(`${part}.json`)) return 0;
  const { received } = JSON.parse(readFileSync(`${part}.json`, "utf8")) as { received: [number, number][] };
  const handle = openSync(part, "r");
  for (const [from, to] of received) {
    const bytes = Buffer.alloc(to - from);
    expect(readSync(handle, bytes, 0, bytes.length, from)).toBe(bytes.length);
    expect(bytes.equals(content.subarray(from, to))).toBe(true);
  }
  closeSync(handle);
  return Ranges.of(received).total;
}

describe("a process that is killed", () => {
  it(`at ${KILLS} random moments loses nothing: what is noted is there, and the file ends up whole`, async () => {
    let kills = 0;
    let whole = 0;
    const lane = async (lane: number) => {
      for (let round = 0; kills < KILLS || whole < FILES; round += 1) {
        const name = `lane-${lane}-${round}.gguf`;
        const content = pseudoGguf(200 * KB, lane * 1000 + round + 1);
        hub.put("own/repo", name, content);
        for (let known = 0; !existsSync(join(folder, name)); ) {
          const child = await start(name, content);
          const exit = ended(child);
          if (kills < KILLS) {
            const asked = hub.requests.length;
            const isAsking = () => hub.requests.slice(asked).some(({ path }) => path.endsWith(name));
            // Some are killed before they have asked for anything.
            const until = Math.random() < 0.1 ? () => true : isAsking;
            while (!until() && child.exitCode === null) await sleep(1);
            await sleep(Math.random() * 120);
            child.kill("SIGKILL");
            if ((await exit) === null) kills += 1;
          } else expect(await exit).toBe(0);
          const now = existsSync(join(folder, name)) ? content.length : checkNote(name, content);
          expect(now).toBeGreaterThanOrEqual(known);
          known = now;
        }
        expect(readFileSync(join(folder, name)).equals(content)).toBe(true);
        whole += 1;
      }
    };
    hub.pace = { bytes: 8 * KB, milliseconds: 5 };
    await Promise.all(Array.from({ length: LANES }, (_, index) => lane(index + 1)));
    expect(kills).toBeGreaterThanOrEqual(KILLS);
    expect(whole).toBeGreaterThanOrEqual(FILES);
  });

  it("leaves a lock that the next process takes over at once", async () => {
    const content = pseudoGguf(400 * KB, 5);
    hub.put("own/repo", "m.gguf", content);
    hub.pace = { bytes: 4 * KB, milliseconds: 10 };
    const first = await start("m.gguf", content);
    await expect.poll(() => hub.sent, { timeout: 60_000 }).toBeGreaterThan(20 * KB);
    first.kill("SIGKILL");
    await ended(first);
    expect(existsSync(join(folder, "m.gguf.lock"))).toBe(true);
    hub.pace = undefined;
    expect(await ended(await start("m.gguf", content))).toBe(0);
    expect(readdirSync(folder)).toEqual(["m.gguf"]);
  });
});

describe("two processes", () => {
  it("that want the same file fetch it once", async () => {
    const content = pseudoGguf(300 * KB, 9);
    hub.put("own/repo", "m.gguf", content);
    hub.pace = { bytes: 16 * KB, milliseconds: 20 };
    const both = await Promise.all([start("m.gguf", content), start("m.gguf", content)]);
    expect(await Promise.all(both.map(ended))).toEqual([0, 0]);
    expect(hub.sent).toBe(content.length);
    expect(readFileSync(join(folder, "m.gguf")).equals(content)).toBe(true);
    expect(readdirSync(folder)).toEqual(["m.gguf"]);
  });
});

describe("a lock", () => {
  const path = () => join(folder, "x.lock");
  const owner = (facts: object) => {
    writeFileSync(path(), JSON.stringify({ pid: process.pid, start: "1", space: "", token: "t", ...facts }));
  };

  it("lets one in at a time, however many come", async () => {
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 2));
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 20 }, () => withLock(path(), work, { pollMs: 1 })));
    expect(most).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is given back when the work fails", async () => {
    const fail = () => Promise.reject(new Error("no"));
    await expect(withLock(path(), fail)).rejects.toThrow("no");
    expect(existsSync(path())).toBe(false);
  });

  it("names the process that has it", async () => {
    await withLock(path(), async () => {
      await expect(withLock(path(), async () => {}, { failWhenTaken: true })).rejects.toMatchObject({
        code: "BUSY",
        message: expect.stringContaining(String(process.pid)),
      });
    });
  });

  it("of a process id that another process has now is taken over", async () => {
    const held = await withLock(path(), async () => JSON.parse(readFileSync(path(), "utf8")) as object);
    owner({ ...held, start: "12345", token: "old" });
    expect(await withLock(path(), async () => "in", { failWhenTaken: true })).toBe("in");
  });

  it("of another machine is respected while it shows signs of life", async () => {
    owner({ space: "elsewhere" });
    await expect(withLock(path(), async () => {}, { failWhenTaken: true })).rejects.toMatchObject({
      code: "BUSY",
    });
  });

  it("is waited for until the signal fires", async () => {
    owner({ space: "elsewhere" });
    const controller = new AbortController();
    const waited: number[] = [];
    const waiting = withLock(path(), async () => {}, {
      signal: controller.signal,
      pollMs: 5,
      onWait: (pid) => {
        waited.push(pid);
        controller.abort();
      },
    });
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    expect(waited).toEqual([process.pid]);
  });
});
