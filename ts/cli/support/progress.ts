import cliProgress from "cli-progress";
import type { PullProgress } from "../../download/pull.js";
import { secondsLeft } from "../../download/rate.js";
import { duration, type Io, size, writeLine } from "./output.js";

/** Shows how far something is, to people. */
export interface Progress {
  update(progress: PullProgress): void;
  end(): void;
}

const PLAIN_EVERY_MS = 5_000;

export const SILENT: Progress = { update: () => {}, end: () => {} };

/** A bar that moves on a terminal, a line now and then in a pipe or a log. */
export function progressOn(io: Io): Progress {
  return io.err.isTTY ? bar(io) : lines(io);
}

function bar(io: Io): Progress {
  const shown = new cliProgress.SingleBar(
    {
      stream: io.err,
      format: "{bar} {percentage}%  {received} of {total_size}  {rate}  {left}  {note}",
      barsize: 24,
      hideCursor: true,
      clearOnComplete: false,
      linewrap: false,
      etaBuffer: 1,
    },
    cliProgress.Presets.shades_classic,
  );
  let started = false;
  return {
    update(progress) {
      const { totalBytes, receivedBytes } = progress;
      if (!started) shown.start(totalBytes, receivedBytes, payload(progress));
      else shown.update(receivedBytes, payload(progress));
      started = true;
    },
    end: () => {
      if (started) shown.stop();
    },
  };
}

function lines(io: Io): Progress {
  let shownAt = Number.NEGATIVE_INFINITY;
  let last = "";
  return {
    update(progress) {
      const kind = `${progress.phase} ${progress.file}`;
      const now = performance.now();
      if (kind === last && now - shownAt < PLAIN_EVERY_MS) return;
      last = kind;
      shownAt = now;
      const { received, total_size, rate, left, note } = payload(progress);
      const percent = Math.floor((100 * progress.receivedBytes) / Math.max(1, progress.totalBytes));
      writeLine(
        io.err,
        [`${percent} %`, `${received} of ${total_size}`, rate, left, note].filter(Boolean).join(", "),
      );
    },
    end: () => {},
  };
}

function payload(progress: PullProgress) {
  const { receivedBytes, totalBytes, bytesPerSecond, fileNumber, fileCount, phase, waitingFor } = progress;
  const left = secondsLeft(receivedBytes, totalBytes, bytesPerSecond);
  const part = fileCount > 1 ? `file ${fileNumber} of ${fileCount}` : "";
  const doing = {
    downloading: "",
    verifying: "verifying",
    waiting: `waiting for process ${waitingFor ?? "?"}`,
  }[phase];
  return {
    received: size(receivedBytes),
    total_size: size(totalBytes),
    rate: phase === "downloading" && bytesPerSecond > 0 ? `${size(bytesPerSecond)}/s` : "",
    left: phase === "downloading" && left !== undefined && left > 0 ? `${duration(left)} left` : "",
    note: [part, doing].filter(Boolean).join(", "),
  };
}
