// A real elizaOS agent: runtime of @elizaos/core, database of @elizaos/plugin-sql (PGlite, embedded), this plugin.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const character = {
  name: "Eliza",
  bio: ["Eliza is a helpful agent that runs on this machine."],
  // Plain and short: a model of 135 million parameters loses its way with more.
  system: "You answer questions about the world in one full sentence.",
};

/** A folder for this run; removed however the process ends, unless it is killed. */
function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), "local-inference-demo-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * The elizaOS core logs every model call to the database without waiting for it, and PGlite must not close meanwhile.
 * Returns a function that waits for these writes.
 */
function watchLogWrites(adapter) {
  const pending = new Set();
  const log = adapter.log.bind(adapter);
  adapter.log = (entry) => {
    const write = log(entry).finally(() => pending.delete(write));
    pending.add(write);
    return write;
  };
  return () => Promise.allSettled([...pending]);
}

export async function openDatabase(agentId) {
  const { default: sql, createDatabaseAdapter } = await import("@elizaos/plugin-sql");
  const adapter = createDatabaseAdapter({ dataDir: temporaryFolder() }, agentId);
  await adapter.init();
  // The runtime looks its agent up before it creates the tables of its plugins.
  await adapter.runPluginMigrations([{ name: sql.name, schema: sql.schema }], { verbose: false });
  const written = watchLogWrites(adapter);
  const close = async () => {
    await written();
    await adapter.close();
  };
  return { adapter, close };
}

export async function agentId() {
  const { stringToUuid } = await import("@elizaos/core");
  return stringToUuid(character.name);
}

/** Starts the agent; `onUsage` gets the engine's measurements of every answer. */
export async function startAgent({ plugin, models, database, onUsage }) {
  const { AgentRuntime } = await import("@elizaos/core");
  const observer = {
    name: "demo-figures",
    description: "Hands the measurements of each answer to the demo.",
    events: { MODEL_USED: [async ({ usage }) => onUsage(usage)] },
  };
  const settings = { LOCAL_LARGE_MODEL: models.large.path, LOCAL_EMBEDDING_MODEL: models.embedding.path };
  const runtime = new AgentRuntime({
    character: { ...character, settings },
    agentId: database.adapter.agentId,
    adapter: database.adapter,
    plugins: [plugin, observer],
  });
  await runtime.initialize();
  return runtime;
}
