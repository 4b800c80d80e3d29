import type { Changes } from "./blocks.js";

interface Seen {
  text: string;
  /** Times in a row that the text was the same. */
  same: number;
  /** Times that it was another. */
  changed: number;
}

/** Times in a row after which a text counts as lasting. */
const LASTING = 2;
/** Changes after which it does not for good: each change of mind moves blocks and costs a cached beginning. */
const RESTLESS = 2;
/** Blocks remembered; a room that is left for long starts anew. */
const MOST = 4096;

/** Watches when blocks change, for each room by itself. */
export class Watch {
  readonly #seen = new Map<string, Seen>();

  /** When a block changes, judged by how it has changed so far. */
  judge(room: string, name: string, text: string, usual: Changes | undefined): Changes {
    if (usual !== undefined && usual !== "room") return usual;
    const seen = this.#see(`${room}\n${name}`, text);
    if (seen.changed >= RESTLESS) return "turn";
    if (usual === "room") return "room";
    return seen.same >= LASTING ? "room" : "turn";
  }

  /** Names of the blocks of a room that change from message to message although nothing says that they do. */
  restless(room: string): string[] {
    const prefix = `${room}\n`;
    return [...this.#seen]
      .filter(([key, { changed }]) => key.startsWith(prefix) && changed >= RESTLESS)
      .map(([key]) => key.slice(prefix.length));
  }

  #see(key: string, text: string): Seen {
    const seen = this.#seen.get(key);
    if (seen === undefined) {
      if (this.#seen.size >= MOST) this.#seen.delete(this.#seen.keys().next().value ?? "");
      const first = { text, same: 0, changed: 0 };
      this.#seen.set(key, first);
      return first;
    }
    // A block that occurs twice in one prompt, or in two prompts about one message, is told once.
    if (seen.text === text) seen.same += 1;
    else Object.assign(seen, { text, same: 0, changed: seen.changed + 1 });
    return seen;
  }
}
