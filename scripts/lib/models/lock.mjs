// Two clones share one models folder: only one of them fetches a model, the other one waits for it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { warn } from "../log.mjs";

/** When a process was started, in ticks since the boot of the machine; "" where /proc does not tell. */
function startOf(pid) {
  try {
    // The second field is the program's name in parentheses and may hold spaces.
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

/** A process id alone is not enough: another container, or a later process, has the same ones. */
const identityOf = (pid) => `${pid} ${startOf(pid)}`;

function isAlive(owner) {
  const pid = Number(owner.split(" ")[0]);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== "EPERM") return false;
  }
  return identityOf(pid) === owner;
}

function readOwner(lock) {
  try {
    return readFileSync(lock, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
}

/** Takes the lock and returns undefined, or returns who has it: "" if that is not known (yet). */
function take(lock) {
  try {
    writeFileSync(lock, identityOf(process.pid), { flag: "wx" });
    return undefined;
  } catch (error) {
    if (error.code === "EEXIST") return readOwner(lock);
    throw error;
  }
}

/** Runs `body` while no other living process does the same with the lock file `lock`. */
export async function withLock(lock, body, pollMs = 2000) {
  mkdirSync(dirname(lock), { recursive: true });
  let announced = "";
  for (let owner = take(lock); owner !== undefined; owner = take(lock)) {
    if (owner !== "" && !isAlive(owner)) {
      rmSync(lock, { force: true });
      continue;
    }
    if (owner !== announced)
      warn(`  process ${owner.split(" ")[0]} is at it already: waiting (its lock is ${lock})`);
    announced = owner;
    await sleep(pollMs);
  }
  try {
    return await body();
  } finally {
    rmSync(lock, { force: true });
  }
}
