import { ModelStore } from "../download/store.js";
import type { Config } from "../settings/config.js";

/** The store that an agent's settings describe. */
export function openStore(config: Config, warn?: (message: string) => void): ModelStore {
  return new ModelStore({
    modelsDir: config.modelsDir,
    baseUrl: config.hubUrl,
    offline: config.offline,
    scanPrograms: config.useOtherModels,
    download: { connections: config.downloadConnections },
    ...(warn === undefined ? {} : { warn }),
    ...(config.hubToken === undefined ? {} : { token: config.hubToken }),
  });
}
