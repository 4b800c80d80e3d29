// These packages publish no declarations that resolve.
declare module "@elizaos/plugin-bootstrap" {
  import type { Plugin } from "@elizaos/core";

  const plugin: Plugin;
  export default plugin;
}

declare module "@elizaos/plugin-sql" {
  import type { IDatabaseAdapter, Plugin, UUID } from "@elizaos/core";

  const plugin: Plugin;
  export default plugin;
  export function createDatabaseAdapter(config: { dataDir: string }, agentId: UUID): IDatabaseAdapter;
}
