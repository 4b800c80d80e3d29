/** From the most urgent to the most detailed. */
export type LogLevel = "error" | "warn" | "info" | "debug";

/** Where this package's log lines go. */
export type LogSink = (level: LogLevel, message: string, facts: Readonly<Record<string, unknown>>) => void;

/** Without an agent there is no log to write to: errors and warnings go to standard error. */
const toStandardError: LogSink = (level, message) => {
  if (level === "error" || level === "warn") console.error(`local-inference: ${message}`);
};

let sink = toStandardError;

/** Sends later lines elsewhere, for the whole process. */
export function setLogSink(next: LogSink): void {
  sink = next;
}

/** Writes one line. */
export function log(level: LogLevel, message: string, facts: Readonly<Record<string, unknown>> = {}): void {
  sink(level, message, facts);
}
