// What the demo shows besides the answer: a line that says what takes time, gone when it is done.
const { stderr, stdout } = process;
const refreshMs = 80;
const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

const clearLine = () => stderr.write("\r\u001b[2K");

/** Runs `body` behind a progress line; without a terminal it is one plain line. */
export async function withProgress(text, body) {
  if (!stderr.isTTY) {
    stderr.write(`${text} ...\n`);
    return body();
  }
  const start = performance.now();
  let frame = 0;
  const draw = () => {
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    stderr.write(`\r\u001b[2K${frames[frame++ % frames.length]} ${text} ... ${seconds} s`);
  };
  draw();
  const timer = setInterval(draw, refreshMs);
  try {
    return await body();
  } finally {
    clearInterval(timer);
    clearLine();
  }
}

const colour = stdout.isTTY && !process.env.NO_COLOR;

/** Text that stands back behind the answer. */
export const dim = (text) => (colour ? `\u001b[2m${text}\u001b[0m` : text);

const milliseconds = (value) => (value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${value.toFixed(0)} ms`);
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;

/** The line of figures; `usage` is missing when the answer was stopped before the model began. */
export function figuresLine({ model, loadMs, firstTokenMs, usage, modelBytes, totalBytes }) {
  const parts = [model];
  if (loadMs !== undefined) parts.push(`load ${milliseconds(loadMs)}`);
  if (firstTokenMs !== undefined) parts.push(`first token ${milliseconds(firstTokenMs)}`);
  if (usage?.completionTokens > 0) {
    const prefilled = usage.promptTokens - usage.cachedPromptTokens;
    parts.push(`prefill ${usage.prefillTokensPerSecond.toFixed(0)} tok/s (${prefilled} tokens)`);
    parts.push(`decode ${usage.decodeTokensPerSecond.toFixed(0)} tok/s (${usage.completionTokens} tokens)`);
  }
  parts.push(`memory ${megabytes(modelBytes)} for the model, ${megabytes(totalBytes)} in all`);
  return parts.join(" · ");
}
