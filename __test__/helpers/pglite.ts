import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { IDatabaseAdapter, UUID } from "@elizaos/core";
import { createDatabaseAdapter } from "@elizaos/plugin-sql";

const TEMPLATE_SCRIPT = fileURLToPath(new URL("pglite-template.mjs", import.meta.url));
const SQL_MANIFEST = new URL("../../node_modules/@elizaos/plugin-sql/package.json", import.meta.url);

/** A real database in a directory of its own; `remove` deletes it. Only the first one of a process is real. */
export async function pgliteAdapter(
  agentId: UUID,
): Promise<{ adapter: IDatabaseAdapter; remove: () => Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), "local-inference-db-"));
  cpSync(await template(), directory, { recursive: true });
  const adapter = createDatabaseAdapter({ dataDir: directory }, agentId);
  await adapter.init();
  const remove = async () => {
    await adapter.close();
    rmSync(directory, { recursive: true, force: true });
  };
  return { adapter, remove };
}

/** Creating a database takes much longer than copying one, so an empty one is kept between runs. */
async function template(): Promise<string> {
  const { version } = JSON.parse(readFileSync(SQL_MANIFEST, "utf8")) as { version: string };
  const path = join(tmpdir(), `local-inference-pglite-${version}`);
  if (existsSync(path)) return path;
  const unfinished = mkdtempSync(`${path}-`);
  await promisify(execFile)(process.execPath, [TEMPLATE_SCRIPT, unfinished]);
  renameSync(unfinished, path);
  return path;
}
