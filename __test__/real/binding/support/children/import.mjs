// Imports the addon and reports what that did to the process.
import { readdirSync, readFileSync } from "node:fs";
import { addon, say } from "./common.mjs";

const threads = readdirSync("/proc/self/task").map((id) =>
  readFileSync(`/proc/self/task/${id}/comm`, "utf8").trim(),
);
say(JSON.stringify({ maps: readFileSync("/proc/self/maps", "utf8"), threads, names: Object.keys(addon) }));
