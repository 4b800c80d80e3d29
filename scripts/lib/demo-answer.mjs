// Asks the agent and prints the answer while the model writes it.
import { setTimeout as sleep } from "node:timers/promises";

const maxTokens = 256;

/** The usage event follows the answer; an answer that was stopped very early has none. */
const usagePatienceMs = 500;

const isAbort = (error) => error?.code === "CANCELLED" || error?.name === "AbortError";

export class Talk {
  #runtime;
  #write;
  #history = [];
  #usage;
  #onUsage = () => {};

  constructor({ write }) {
    this.#write = write;
  }

  set runtime(runtime) {
    this.#runtime = runtime;
  }

  /** To be called with the measurements of each answer. */
  takeUsage(usage) {
    this.#usage = usage;
    this.#onUsage();
  }

  /** Brings the model into memory; resolves to what that took. */
  async load() {
    const rss = process.memoryUsage.rss();
    const start = performance.now();
    await this.#runtime.useModel("TEXT_TOKENIZER_ENCODE", { prompt: "Hello", modelType: "TEXT_LARGE" });
    return { loadMs: performance.now() - start, rssBefore: rss };
  }

  /** One question, without what was said before. */
  ask(question, signal) {
    return this.#answer({ prompt: question, temperature: 0 }, signal);
  }

  /** The next turn of a conversation; what was said of a stopped answer stays in it. */
  async say(text, signal) {
    this.#history.push({ role: "user", content: text });
    const turn = await this.#withRoom(signal);
    this.#history.push({ role: "assistant", content: turn.text });
    return turn;
  }

  /** Forgets the oldest turns when the conversation has outgrown the context. */
  async #withRoom(signal) {
    const { system } = this.#runtime.character;
    for (;;) {
      try {
        return await this.#answer({ messages: [...this.#history], system }, signal);
      } catch (error) {
        if (error?.code !== "CONTEXT_OVERFLOW" || this.#history.length < 3) throw error;
        this.#history.splice(0, 2);
      }
    }
  }

  async #answer(request, signal) {
    this.#usage = undefined;
    const start = performance.now();
    const answer = { text: "", firstTokenMs: undefined, stopped: false };
    try {
      const result = await this.#runtime.useModel("TEXT_LARGE", {
        ...request,
        maxTokens,
        stream: true,
        signal,
      });
      for await (const piece of result.textStream) {
        answer.firstTokenMs ??= performance.now() - start;
        answer.text += piece;
        this.#write(piece);
      }
    } catch (error) {
      if (!isAbort(error)) throw error;
      answer.stopped = true;
    }
    return { ...answer, usage: await this.#usageOfAnswer() };
  }

  async #usageOfAnswer() {
    if (this.#usage === undefined) {
      const arrived = new Promise((resolve) => {
        this.#onUsage = resolve;
      });
      await Promise.race([arrived, sleep(usagePatienceMs)]);
    }
    return this.#usage;
  }
}
