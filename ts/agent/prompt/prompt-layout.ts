import type { IAgentRuntime } from "@elizaos/core";
import * as core from "@elizaos/core";
import { BOOTSTRAP_TEMPLATES } from "./bootstrap-templates.js";
import { PromptCosts } from "./costs.js";
import { Drawn } from "./drawn.js";
import type { PromptFile } from "./kept.js";
import { type LaidOut, layOut } from "./layout.js";
import { latestStates } from "./state.js";
import { parseTemplate, type Template, templateOf } from "./template.js";
import { Watch } from "./watch.js";

interface NamedTemplate {
  readonly name: string;
  readonly parts: Template;
}

/** Templates that core exports, in whatever version is installed. */
const OF_CORE = [
  "messageHandlerTemplate",
  "shouldRespondTemplate",
  "multiStepDecisionTemplate",
  "multiStepSummaryTemplate",
  "postCreationTemplate",
];

/** Lays out the prompts of one agent, and remembers what was drawn and what has changed. */
export class PromptLayout {
  readonly costs = new PromptCosts();
  readonly #watch = new Watch();
  readonly #templates = new Map<string, NamedTemplate[]>();
  readonly #file: PromptFile | undefined;
  #drawn = new Drawn();
  #heads = new Map<string, string>();
  #opening: Promise<void> | undefined;

  /** @param file Where draws and heads are kept for the next start. Default: nowhere. */
  constructor(file?: PromptFile) {
    this.#file = file;
  }

  /** Reads what was kept; to be waited for before the first prompt. */
  open(): Promise<void> {
    this.#opening ??= this.#read();
    return this.#opening;
  }

  /** The beginnings of prompts that later ones are expected to have, by their template. */
  get heads(): ReadonlyMap<string, string> {
    return this.#heads;
  }

  /** @returns undefined for a prompt of no template that is known: it stays as it is. */
  layOut(runtime: IAgentRuntime, prompt: string): LaidOut | undefined {
    const states = latestStates(runtime);
    if (states.length === 0) return undefined;
    const memory = { drawn: this.#drawn, watch: this.#watch };
    const size = this.#drawn.size;
    for (const template of this.#known(runtime)) {
      for (const state of states) {
        const laidOut = layOut(prompt, template, state, memory);
        if (laidOut !== undefined) {
          this.#keep(laidOut, this.#drawn.size !== size);
          return laidOut;
        }
      }
    }
    return undefined;
  }

  /** Notes what a prompt has cost; `laidOut` is undefined for one that was left as it is. */
  count(laidOut: LaidOut | undefined, tokens: { promptTokens: number; cachedPromptTokens: number }): void {
    this.costs.count(laidOut?.template, tokens);
    if (laidOut !== undefined) this.costs.tell(laidOut, this.#watch.restless(laidOut.room), tokens);
  }

  async #read(): Promise<void> {
    if (this.#file === undefined) return;
    const { drawn, heads } = await this.#file.read();
    this.#drawn = new Drawn(drawn);
    this.#heads = new Map(Object.entries(heads));
  }

  #keep({ template, head }: LaidOut, drew: boolean): void {
    if (!drew && this.#heads.get(template) === head) return;
    this.#heads.set(template, head);
    void this.#file?.write({ drawn: this.#drawn.entries(), heads: Object.fromEntries(this.#heads) });
  }

  /** A character's own templates go before those of core and bootstrap. */
  #known(runtime: IAgentRuntime): NamedTemplate[] {
    const own = ownTemplates(runtime);
    const key = own.map(([name, text]) => `${name}\n${text}`).join("\n\n");
    const known = this.#templates.get(key);
    if (known !== undefined) return known;
    const exported = OF_CORE.map((name): [string, unknown] => [name, Reflect.get(core, name)]);
    const parsed = [...own, ...exported].flatMap(([name, text]) => {
      const parts = typeof text === "string" ? parseTemplate(text) : undefined;
      return parts === undefined ? [] : [{ name, parts }];
    });
    const templates = [
      ...parsed,
      ...BOOTSTRAP_TEMPLATES.map(([name, compact]) => ({ name, parts: templateOf(compact) })),
    ];
    this.#templates.clear();
    this.#templates.set(key, templates);
    return templates;
  }
}

function ownTemplates({ character }: IAgentRuntime): [string, string][] {
  return Object.entries(character?.templates ?? {}).flatMap(([name, text]): [string, string][] =>
    typeof text === "string" ? [[name, text]] : [],
  );
}
