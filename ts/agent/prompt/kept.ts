import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { writeAtomically } from "../../download/files.js";
import { log } from "../../support/log.js";

/** What an agent's prompts have in common, as it is kept from one start to the next. */
export interface KeptPrompts {
  /** Draws by their content: see `Drawn`. */
  readonly drawn: readonly (readonly [string, string])[];
  /** The beginning of the prompts of each template. */
  readonly heads: Readonly<Record<string, string>>;
}

const NOTHING: KeptPrompts = { drawn: [], heads: {} };

const VERSION = 1;
const form = z.object({
  version: z.literal(VERSION),
  drawn: z.array(z.tuple([z.string(), z.string()])),
  heads: z.record(z.string(), z.string()),
});

/** The file of one agent in the folder where conversations are kept. */
export class PromptFile {
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string, agentId: string) {
    this.#path = join(folder, `prompts-${agentId.replaceAll(/[^\w-]/g, "_")}.json`);
  }

  /** What was kept; nothing for a file that is missing, damaged or of another version: it is made anew. */
  async read(): Promise<KeptPrompts> {
    try {
      const parsed = form.safeParse(JSON.parse(await readFile(this.#path, "utf8")));
      return parsed.success ? parsed.data : NOTHING;
    } catch {
      return NOTHING;
    }
  }

  /** Writes after what is being written. A file that cannot be written costs time at the next start and nothing else. */
  write(kept: KeptPrompts): Promise<void> {
    const text = JSON.stringify({ version: VERSION, ...kept });
    this.#writing = this.#writing.then(async () => {
      try {
        await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
        await writeAtomically(this.#path, text, { durable: false, mode: 0o600 });
      } catch (error) {
        log("warn", "What prompts begin with could not be kept for the next start.", {
          error: error instanceof Error ? error.message : String(error),
        });
      }
    });
    return this.#writing;
  }
}
