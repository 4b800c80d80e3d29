import { homedir } from "node:os";
import { sep } from "node:path";

/** Where a command writes to. */
export interface Io {
  /** Results. */
  readonly out: NodeJS.WritableStream & { isTTY?: boolean };
  /** Progress, warnings and errors. */
  readonly err: NodeJS.WritableStream & { isTTY?: boolean };
  readonly in: NodeJS.ReadableStream & { isTTY?: boolean };
  readonly environment: NodeJS.ProcessEnv;
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** 1234567 → `1.2 MB`; decimal units, as hubs and disks state sizes. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** 3725 → `1 h 02 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

/** Columns as wide as their longest cell; the last one is not padded. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column < head.length - 1 ? cell.padEnd(widths[column] ?? 0) : cell))
      .join("  ");
  return [line(head), ...rows.map(line)].map((text) => text.trimEnd()).join("\n");
}

/** Control characters of a name that came from elsewhere must not reach a terminal. */
export function printable(text: string): string {
  return [...text].map((character) => (isControl(character) ? "\uFFFD" : character)).join("");
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return (code < 32 && character !== "\n" && character !== "\t") || (code >= 127 && code < 160);
}

/** Paths below the home folder as `~/…`: shorter, and no user name in what people paste elsewhere. */
export function homeShortened(text: string, home = homedir()): string {
  return home.length > 1 ? text.replaceAll(`${home}${sep}`, `~${sep}`) : text;
}

export function writeLine(stream: NodeJS.WritableStream, text: string): void {
  stream.write(`${printable(text)}\n`);
}

export function writeJson(stream: NodeJS.WritableStream, value: unknown): void {
  stream.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
