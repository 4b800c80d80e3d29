// What an agent uses models for. Everything that has an entry for every role, or for some of them, is derived from this
// table: active models and their settings, companions, priorities in memory, the words of the command line.

interface RoleRow {
  /** How the active model of this role is loaded. Without it the role has no active model. */
  readonly kind?: string;
  /** The setting that names its active model. */
  readonly setting?: string;
  /** The role whose model is used where this one has none. */
  readonly standIn?: string;
  /** A catalog model can bring a file for this role. */
  readonly companion?: true;
  /**
   * How much its models are missed in memory. The arbiter evicts the lowest first, because it is the quickest to load
   * again or the least missed.
   */
  readonly priority: number;
  /** Words for it in files and settings of earlier versions, which are still read. */
  readonly formerly?: readonly string[];
}

const TABLE = {
  small: { kind: "text", setting: "LOCAL_SMALL_MODEL", standIn: "large", priority: 100 },
  large: { kind: "text", setting: "LOCAL_LARGE_MODEL", standIn: "small", priority: 100 },
  embedding: { kind: "embedding", setting: "LOCAL_EMBEDDING_MODEL", companion: true, priority: 25 },
  vision: { companion: true, priority: 20 },
  transcription: { companion: true, priority: 40, formerly: ["audio", "asr"] },
  speech: { companion: true, priority: 50, formerly: ["tts"] },
  vad: { companion: true, priority: 35 },
  "wake-word": { priority: 35 },
  drafter: { companion: true, priority: 10 },
} as const satisfies Readonly<Record<string, RoleRow>>;

type Table = typeof TABLE;
type RolesWith<Column extends string> = {
  [R in keyof Table]: Column extends keyof Table[R] ? R : never;
}[keyof Table];

/** What a model is used for. */
export type Role = keyof Table;
/** A role with an active model: one that requests are answered by. */
export type ActiveRole = RolesWith<"setting">;
/** The roles of text models: each stands in for the other. */
export type TextRole = RolesWith<"standIn">;
/** What a file beside a model is for. */
export type CompanionRole = RolesWith<"companion">;
/** What a model in memory is for. Small and large are one role there: they may share a model. */
export type MemoryRole = Exclude<Role, TextRole> | "text";
/** How a model is loaded and what it computes; `engine/kinds.ts` has a row for each. */
export type Kind = Table[ActiveRole]["kind"];

const ROWS: Readonly<Record<Role, RoleRow>> = TABLE;

export const ROLES = Object.keys(TABLE) as readonly Role[];
export const ACTIVE_ROLES = rolesWith("setting");
const TEXT_ROLES = rolesWith("standIn");
export const COMPANION_ROLES = rolesWith("companion");

/** The setting that names the model of a role. */
export const SETTING_OF = column("setting");
/** How the model of a role is loaded. */
export const KIND_OF = column("kind");

/** Priority in memory by role: the lowest is evicted first. */
export const MEMORY_ROLES = Object.fromEntries(
  ROLES.map((role) => [isTextRole(role) ? "text" : role, TABLE[role].priority]),
) as Readonly<Record<MemoryRole, number>>;

/** What the command line and routes call several roles at once. */
export const ROLE_WORDS: ReadonlyMap<string, readonly ActiveRole[]> = new Map([
  ["text", TEXT_ROLES],
  ...ACTIVE_ROLES.map((role): [string, readonly ActiveRole[]] => [role, [role]]),
]);

/** The roles whose models are loaded as this kind. */
export function rolesOfKind(kind: Kind): readonly ActiveRole[] {
  return ACTIVE_ROLES.filter((role) => KIND_OF[role] === kind);
}

/** The model of a role among named ones: where it has none, that of its stand-in. */
export function modelFor(
  models: Readonly<Partial<Record<ActiveRole, string>>>,
  role: ActiveRole,
): string | undefined {
  const { standIn } = ROWS[role];
  return models[role] ?? (standIn === undefined ? undefined : models[standIn as ActiveRole]);
}

/** The companion role that a word means, today or in an earlier version; undefined: none. */
export function companionRole(word: string): CompanionRole | undefined {
  return COMPANION_ROLES.find((role) => role === word || ROWS[role].formerly?.includes(word));
}

function isTextRole(role: Role): role is TextRole {
  return "standIn" in TABLE[role];
}

function rolesWith<Column extends keyof RoleRow>(name: Column): readonly RolesWith<Column>[] {
  return ROLES.filter((role) => name in TABLE[role]) as never;
}

function column<Column extends "setting" | "kind">(
  name: Column,
): { readonly [R in ActiveRole]: Table[R][Column] } {
  return Object.fromEntries(ACTIVE_ROLES.map((role) => [role, TABLE[role][name]])) as never;
}
