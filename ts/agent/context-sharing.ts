import type { ResolvedLoad } from "../active-model/load-types.js";
import type { ContextOptions } from "../engine/text/context-options.js";
import type { Config } from "../settings/config.js";
import { present } from "../support/present.js";

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

type SharingSettings = Pick<
  Config,
  | "queueLimit"
  | "queueTimeoutMs"
  | "prefixCacheMiB"
  | "conversationsDir"
  | "conversationsMiB"
  | "conversationsHours"
  | "conversationsOnBattery"
>;

/** Adds the settings of queue, prefix cache and stored conversations to the context of a text model. */
export function withSharing(resolved: ResolvedLoad, settings: SharingSettings): ResolvedLoad {
  const { spec } = resolved;
  if (spec.kind !== "text") return resolved;
  return { ...resolved, spec: { ...spec, context: { ...spec.context, ...contextSharing(settings) } } };
}

function contextSharing(settings: SharingSettings): ContextOptions {
  const { queueLimit, queueTimeoutMs, prefixCacheMiB, conversationsDir } = settings;
  return present({
    queueLimit,
    queueTimeoutMs: queueTimeoutMs === 0 ? undefined : queueTimeoutMs,
    prefixCacheBytes: prefixCacheMiB === undefined ? undefined : prefixCacheMiB * MIB,
    state: conversationsDir === undefined ? undefined : stateFolder(conversationsDir, settings),
  });
}

function stateFolder(folder: string, settings: SharingSettings): NonNullable<ContextOptions["state"]> {
  const { conversationsMiB, conversationsHours, conversationsOnBattery } = settings;
  return {
    folder,
    bytes: conversationsMiB * MIB,
    timeToLiveMs: conversationsHours * HOUR_MS,
    onBattery: conversationsOnBattery,
  };
}
