import { log } from "../../support/log.js";
import type { LaidOut } from "./layout.js";

/** Tokens of prompts. */
interface Tokens {
  readonly promptTokens: number;
  readonly cachedPromptTokens: number;
}

/** What the prompts of one template have cost since the agent started. */
export interface TemplateCost {
  readonly template: string;
  readonly prompts: number;
  readonly promptTokens: number;
  /** Tokens that were not in the cache. */
  readonly evaluatedTokens: number;
}

/** Counts what prompts cost, and says once for each cause what makes them cost more than they need. */
export class PromptCosts {
  readonly #costs = new Map<string, TemplateCost>();
  readonly #told = new Set<string>();

  /** @param template Name of the prompt's template; prompts of none are counted together. */
  count(template: string | undefined, { promptTokens, cachedPromptTokens }: Tokens): void {
    const name = template ?? "other";
    const before = this.#costs.get(name);
    this.#costs.set(name, {
      template: name,
      prompts: (before?.prompts ?? 0) + 1,
      promptTokens: (before?.promptTokens ?? 0) + promptTokens,
      evaluatedTokens: (before?.evaluatedTokens ?? 0) + promptTokens - cachedPromptTokens,
    });
  }

  /** Names the providers of a prompt whose text changes with each message, and what each of them costs. */
  tell({ blocks, text }: LaidOut, restless: readonly string[], { promptTokens }: Tokens): void {
    for (const name of restless) {
      if (this.#told.has(name)) continue;
      this.#told.add(name);
      const length = blocks
        .filter((block) => block.name === name)
        .reduce((sum, one) => sum + one.text.length, 0);
      const tokens = Math.round((length / Math.max(1, text.length)) * promptTokens);
      log("info", `The text of ${name} changes with each message, so it is evaluated again in each prompt.`, {
        provider: name,
        tokens,
      });
    }
  }

  all(): TemplateCost[] {
    return [...this.#costs.values()];
  }
}
