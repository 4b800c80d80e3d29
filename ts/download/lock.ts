import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { link, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { LocalInferenceError } from "../errors.js";
import { pause } from "./retry.js";

export interface LockOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the process id of each owner that this process waits for, once. */
  readonly onWait?: (pid: number) => void;
  /** Throw `BUSY` instead of waiting. */
  readonly failWhenTaken?: boolean;
  readonly pollMs?: number;
}

interface Owner {
  readonly pid: number;
  /** When the process started, in the machine's own terms; "" where that cannot be told. */
  readonly start: string;
  /** Where the process id is meaningful: a container counts processes for itself. */
  readonly space: string;
  readonly token: string;
}

const HEARTBEAT_MS = 5_000;
/** An owner whose process cannot be checked is dead after this long without a heartbeat. */
const SILENCE_MS = 60_000;

/**
 * Runs `work` while no other living process holds the lock file `path`. The lock of a process that was killed is
 * taken over at once: its process id is gone, or belongs to a process that started at another time.
 *
 * @throws LocalInferenceError `BUSY` when the lock is taken and `failWhenTaken` is set; an `AbortError`.
 */
export async function withLock<T>(
  path: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const token = await acquire(path, options);
  const beat = setInterval(() => void touch(path), HEARTBEAT_MS).unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    if ((await ownerOf(path))?.token === token) await rm(path, { force: true });
  }
}

async function acquire(path: string, options: LockOptions): Promise<string> {
  const me: Owner = { pid: process.pid, start: startOf(process.pid), space: space(), token: randomUUID() };
  let announced: string | undefined;
  for (;;) {
    if (await create(path, me)) return me.token;
    const owner = await ownerOf(path);
    if (owner === undefined ? await isSilent(path, 2_000) : await isDead(owner, path)) {
      await takeAway(path, owner);
      continue;
    }
    if (options.failWhenTaken) throw busy(path, owner);
    if (owner !== undefined && owner.token !== announced) {
      announced = owner.token;
      options.onWait?.(owner.pid);
    }
    await pause(options.pollMs ?? 250, options.signal);
  }
}

/** Creates the file with its content at once, so that nobody reads a half-written one. */
async function create(path: string, owner: Owner): Promise<boolean> {
  const draft = `${path}.${owner.token}`;
  await writeFile(draft, JSON.stringify(owner), { flag: "wx" });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    // Some file systems have no hard links.
    return createInPlace(path, owner);
  } finally {
    await rm(draft, { force: true });
  }
}

async function createInPlace(path: string, owner: Owner): Promise<boolean> {
  try {
    await writeFile(path, JSON.stringify(owner), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Two processes may find the same dead owner: each checks the lock again after moving it, and puts a living one back. */
async function takeAway(path: string, dead: Owner | undefined): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  const moved = await ownerOf(aside);
  if (moved?.token !== dead?.token) await link(aside, path).catch(() => {});
  await rm(aside, { force: true });
}

async function ownerOf(path: string): Promise<Owner | undefined> {
  try {
    const owner = JSON.parse(await readFile(path, "utf8")) as Partial<Owner> | null;
    const { pid, start, space, token } = owner ?? {};
    if (typeof pid !== "number" || typeof token !== "string") return undefined;
    return { pid, start: String(start ?? ""), space: String(space ?? ""), token };
  } catch {
    return undefined;
  }
}

async function isDead(owner: Owner, path: string): Promise<boolean> {
  if (owner.space !== space()) return isSilent(path, SILENCE_MS);
  if (!exists(owner.pid)) return true;
  const start = startOf(owner.pid);
  if (start === "" || owner.start === "") return isSilent(path, SILENCE_MS);
  return start !== owner.start;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function isSilent(path: string, milliseconds: number): Promise<boolean> {
  return stat(path).then(
    (facts) => Date.now() - facts.mtimeMs > milliseconds,
    () => false,
  );
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
}

/** In clock ticks since the boot; "" where there is no /proc. */
function startOf(pid: number): string {
  try {
    // The second field is the program's name in parentheses and may hold spaces.
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

let knownSpace: string | undefined;

function space(): string {
  knownSpace ??= [hostname(), quietly(() => readlinkSync("/proc/self/ns/pid")), bootId()].join(" ");
  return knownSpace;
}

function bootId(): string {
  return quietly(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
}

function quietly(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

function busy(path: string, owner: Owner | undefined): LocalInferenceError {
  const who = owner === undefined ? "Another process" : `Process ${owner.pid}`;
  return new LocalInferenceError("BUSY", `${who} is at work on ${path.replace(/\.lock$/, "")}.`, {
    hint: "Wait until it has finished.",
  });
}
