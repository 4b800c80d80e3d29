// The random requests of the soak test, over two engines that share their models, as two agents of a process do.
import { Failure } from "./log.mjs";
import { checkSame, trace } from "./soak-answers.mjs";

/** Longest time that any operation may take before it counts as hanging, in milliseconds. */
const PATIENCE_MS = 90_000;
const OPTIONS = { maxTokens: 24, temperature: 0, logprobs: 2 };
const LANES = ["interactive", "normal", "background"];
const TOPICS = ["rivers of Europe", "the history of bread", "how rain forms", "the planets"];
const QUESTIONS = ["Say one sentence.", "Give two examples.", "Who should know this?", "What comes next?"];

/** A small seeded generator (mulberry32), so that a failing run can be repeated. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function conversation(topic, question) {
  const system = `You are a guide who talks about ${topic}. ${"You are brief, kind and exact. ".repeat(8)}`;
  return [
    { role: "system", content: system },
    { role: "user", content: question },
  ];
}

const similarity = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);

export class SoakWorkload {
  #library;
  #random;
  #engines;
  /** Text models with their requests and what each of these gives alone. */
  #subjects;
  #vectors;
  #references = [];
  #counts = {
    stop: 0,
    length: 0,
    cancelled: 0,
    aborted: 0,
    refused: 0,
    closed: 0,
    embedded: 0,
    evicted: 0,
    compared: 0,
  };

  constructor(library, { chat, other, embedding, folder, seed }) {
    this.#library = library;
    this.#random = randomOf(seed);
    this.#engines = [library.Engine.create(), library.Engine.create()];
    const context = { contextSize: 2048, parallel: 4, queueLimit: 1, prefixCacheBytes: 24 << 20 };
    const chats = TOPICS.flatMap((topic) => QUESTIONS.map((question) => conversation(topic, question)));
    const openings = ["def area(", "class Tree:", "for i in range(", "import os\n"];
    this.#subjects = [
      {
        spec: { kind: "text", path: chat, context: { ...context, state: { folder, onBattery: true } } },
        requests: chats.map((messages) => ({ messages })),
      },
      {
        spec: { kind: "text", path: other, context: { contextSize: 512, parallel: 2 } },
        requests: openings.map((prompt) => ({ prompt })),
      },
    ];
    this.#vectors = { kind: "embedding", path: embedding, embedder: {} };
  }

  /** What every request gives on a context of its own that keeps nothing. */
  async prepare() {
    for (const subject of this.#subjects) {
      const model = await this.#library.LocalModel.load(subject.spec.path);
      subject.alone = [];
      for (const request of subject.requests) {
        const context = await model.createContext({ contextSize: 512, parallel: 1, prefixCacheBytes: 0 });
        const { logprobs } = await context.generate({ ...OPTIONS, ...request }).result;
        subject.alone.push(trace(logprobs));
        await context.close();
      }
      await model.close();
    }
    const { vectors } = await this.#engines[0].embed(this.#vectors, this.#texts());
    this.#references = vectors;
  }

  /** Keeps `workers` busy for `milliseconds`, then waits until all of them have ended. */
  async round(milliseconds, workers) {
    const end = performance.now() + milliseconds;
    const work = async () => {
      while (performance.now() < end) await this.#withPatience(this.#operation());
    };
    await Promise.all(Array.from({ length: workers }, work));
    const active = this.#engines.map((engine) => engine.active);
    if (active.some((count) => count > 0)) throw new Failure(`requests are left over: ${active}`);
  }

  async releaseAll() {
    for (const engine of this.#engines) {
      for (const spec of this.#specs()) await this.#withPatience(engine.release(spec));
    }
  }

  async close() {
    await Promise.all(this.#engines.map((engine) => engine.close()));
  }

  /** Tokens that were compared. */
  get compared() {
    return this.#counts.compared;
  }

  summary() {
    return Object.entries(this.#counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  }

  #operation() {
    const engine = this.#pick(this.#engines);
    const dice = this.#random();
    if (dice < 0.8) return this.#generate(engine);
    if (dice < 0.97) return this.#embed(engine);
    this.#counts.evicted += 1;
    return engine.release(this.#pick(this.#specs()));
  }

  async #generate(engine) {
    const subject = this.#subjects[this.#random() < 0.85 ? 0 : 1];
    const index = Math.floor(this.#random() * subject.requests.length);
    const controller = new AbortController();
    const fate = this.#random();
    const timer = fate < 0.2 ? setTimeout(() => controller.abort(), this.#random() * 300) : undefined;
    const leaveAfter = fate > 0.85 ? Math.ceil(this.#random() * 8) : Number.POSITIVE_INFINITY;
    const request = {
      ...OPTIONS,
      ...subject.requests[index],
      lane: this.#pick(LANES),
      ...(this.#random() < 0.3 ? { conversation: `soak-${index % 5}` } : {}),
    };
    const logprobs = [];
    try {
      const answer = await engine.generate(subject.spec, request, { signal: controller.signal });
      let tokens = 0;
      for await (const piece of answer) {
        logprobs.push(...(piece.logprobs ?? []));
        tokens += piece.tokens;
        if (tokens >= leaveAfter) break;
      }
      const { finishReason, usage } = await answer.result;
      if (usage.promptTokens === 0) throw new Failure("a request without a prompt was answered");
      this.#counts[finishReason] += 1;
    } catch (error) {
      this.#ended(error);
    } finally {
      clearTimeout(timer);
    }
    this.#counts.compared += checkSame(`request ${index}`, subject.alone[index], trace(logprobs));
  }

  /** What a request may end with instead of an answer. */
  #ended(error) {
    if (error.name === "AbortError") this.#counts.aborted += 1;
    else if (error.code === "QUEUE_FULL") this.#counts.refused += 1;
    else if (error.code === "CLOSED") this.#counts.closed += 1;
    else throw error;
  }

  async #embed(engine) {
    const texts = this.#texts();
    const chosen = texts.map((_, index) => index).filter(() => this.#random() < 0.4);
    const vectors = await engine
      .embed(
        this.#vectors,
        chosen.map((index) => texts[index]),
      )
      .then(
        (result) => result.vectors,
        (error) => this.#ended(error),
      );
    if (vectors === undefined) return;
    for (const [place, index] of chosen.entries()) {
      const same = similarity(vectors[place], this.#references[index]);
      if (!(same > 0.9999)) throw new Failure(`text ${index} has another vector (cosine ${same})`);
    }
    this.#counts.embedded += chosen.length;
  }

  #texts() {
    return TOPICS.flatMap((topic, index) => QUESTIONS.map((question) => `${question} ${topic} ${index}`));
  }

  #specs() {
    return [...this.#subjects.map(({ spec }) => spec), this.#vectors];
  }

  #pick(choices) {
    return choices[Math.floor(this.#random() * choices.length)];
  }

  async #withPatience(work) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(
        () => reject(new Failure(`hangs: nothing after ${PATIENCE_MS / 1000} s`)),
        PATIENCE_MS,
      );
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
