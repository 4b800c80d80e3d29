/** What Ctrl-C means: it stops the answer being written; with none, or a second time, it leaves the demo. */
export class Interrupts {
  #answer;
  #leave = new AbortController();

  constructor() {
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => this.press(signal));
  }

  /** Fires when the demo is to end. */
  get leaving() {
    return this.#leave.signal;
  }

  press(signal = "SIGINT") {
    const answering = this.#answer !== undefined && !this.#answer.signal.aborted;
    if (answering && signal === "SIGINT") return this.#answer.abort();
    // Someone who asks again while everything is being closed does not want to wait for it.
    if (this.leaving.aborted) process.exit(130);
    this.#answer?.abort();
    this.#leave.abort();
  }

  /** Runs `body` with a signal that stops the answer it is waiting for. */
  async answering(body) {
    this.#answer = new AbortController();
    try {
      return await body(this.#answer.signal);
    } finally {
      this.#answer = undefined;
    }
  }
}
