// Makes an empty, migrated database in the directory given as argument. A process of its own, because plugin-sql keeps
// one database per process.
import { stringToUuid } from "@elizaos/core";
import sql, { createDatabaseAdapter } from "@elizaos/plugin-sql";

const adapter = createDatabaseAdapter({ dataDir: process.argv[2] }, stringToUuid("template"));
await adapter.init();
// The agent looks itself up before it migrates, so its tables must be there first.
await adapter.runPluginMigrations([{ name: sql.name, schema: sql.schema }], { verbose: false });
await adapter.close();
process.exit(0);
