import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { Io } from "../../../ts/cli/support/output.js";
import { progressOn } from "../../../ts/cli/support/progress.js";

function io(terminal: boolean): { io: Io; text: () => string } {
  let text = "";
  const err = Object.assign(
    new Writable({
      write(chunk, _, done) {
        text += chunk;
        done();
      },
    }),
    // What a terminal's stream has besides.
    { isTTY: terminal, columns: 120, cursorTo: () => true, clearLine: () => true, moveCursor: () => true },
  );
  return { io: { out: err, err, in: process.stdin, environment: {} }, text: () => text };
}

const halfway = {
  phase: "downloading",
  receivedBytes: 500_000_000,
  totalBytes: 1_000_000_000,
  bytesPerSecond: 10_000_000,
  file: "m.gguf",
  fileNumber: 1,
  fileCount: 2,
} as const;

describe("progress", () => {
  it("on a terminal is a bar with size, rate and time left", () => {
    const { io: terminal, text } = io(true);
    const progress = progressOn(terminal);
    progress.update(halfway);
    progress.end();
    expect(text()).toMatch(/[█░]+ 50%/);
    expect(text()).toContain("500 MB of 1.0 GB  10.0 MB/s  50 s left  file 1 of 2");
  });

  it("in a pipe is a line now and then", () => {
    const { io: pipe, text } = io(false);
    const progress = progressOn(pipe);
    for (let index = 0; index < 50; index += 1) progress.update(halfway);
    progress.update({ ...halfway, phase: "verifying", receivedBytes: 1_000_000_000 });
    progress.end();
    expect(text()).toBe(
      "50 %, 500 MB of 1.0 GB, 10.0 MB/s, 50 s left, file 1 of 2\n100 %, 1.0 GB of 1.0 GB, file 1 of 2, verifying\n",
    );
  });

  it("names the process that is waited for", () => {
    const { io: pipe, text } = io(false);
    progressOn(pipe).update({ ...halfway, phase: "waiting", waitingFor: 4711 });
    expect(text()).toContain("waiting for process 4711");
  });
});
