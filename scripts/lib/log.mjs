// One line per step on stderr, so that a script's stdout stays free for its result (a path, a list).

const colour = process.stderr.isTTY && !process.env.NO_COLOR;
const paint = (code, text) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);

export const step = (text) => process.stderr.write(`${paint("36", "•")} ${text}\n`);
export const done = (text) => process.stderr.write(`${paint("32", "✓")} ${text}\n`);
export const warn = (text) => process.stderr.write(`${paint("33", "!")} ${text}\n`);

/** A failure whose message tells the reader all there is to know: printed without a stack trace. */
export class Failure extends Error {}

/** Runs a script's main function; a `Failure` ends the process with status 1. */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    process.stderr.write(`${paint("31", "✗")} ${error.message}\n`);
    process.exitCode = 1;
  }
}

export function formatBytes(bytes) {
  const mega = bytes / 1e6;
  return mega >= 1 ? `${mega.toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`;
}
