/** What a file beside a model is for. */
export const COMPANION_ROLES = ["drafter", "vision", "audio", "vad", "speech", "embedding"] as const;
export type CompanionRole = (typeof COMPANION_ROLES)[number];

/** A model on this machine, as far as choosing and loading it needs to know. */
export interface InstalledModel {
  readonly id: string;
  /** The file to load: the first part of a split model. Absolute. */
  readonly path: string;
  /** Every file with what it is for: `model`, or a {@link CompanionRole}. */
  readonly files: readonly { readonly path: string; readonly role: string }[];
  /** The catalog entry it was fetched as. */
  readonly catalogId?: string;
}

/** The installed model that an id, a catalog id or a reference to the hub means. */
export type FindInstalled = (id: string) => Promise<InstalledModel | undefined>;

/** For a program without a registry of downloads. */
export const findNothing: FindInstalled = async () => undefined;
