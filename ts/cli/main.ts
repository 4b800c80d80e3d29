#!/usr/bin/env node
// The agent's logger would write its own lines among the results.
process.env.LOG_LEVEL ??= "fatal";

const { runCli } = await import("./program.js");

const interrupted = new AbortController();
// The second one ends the process at once.
process.once("SIGINT", () => interrupted.abort());
process.once("SIGTERM", () => interrupted.abort());
// A reader that has seen enough, as `head` does, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
});

const io = { out: process.stdout, err: process.stderr, in: process.stdin, environment: process.env };
process.exitCode = await runCli(process.argv.slice(2), io, interrupted.signal);

export {};
