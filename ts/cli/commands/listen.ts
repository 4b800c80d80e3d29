import { readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { invalidInput, LocalInferenceError } from "../../errors.js";
import { HEARING_RATE, Vad } from "../../hearing/vad.js";
import type { VadEvent } from "../../hearing/vad-event.js";
import { WakeWord, type WakeWordDetection } from "../../hearing/wake-word.js";
import { readWav } from "../../hearing/wav.js";
import { waveformSvg } from "../../views/waveform.js";
import type { CliContext } from "../support/context.js";

export interface ListenOptions {
  rate?: number;
  wake?: string[];
  threshold?: number;
  model?: "v5" | "v6";
  plot?: string;
}

interface Sound {
  readonly samples: Float32Array | Int16Array;
  readonly sampleRate: number;
}

type Segment = Extract<VadEvent, { kind: "end" }>;

/** Samples that are pushed at once: 100 ms at 16 kHz. The command can be interrupted between them. */
const CHUNK = 1600;

/** `listen`: who speaks when in a file or in what is piped in, and which wake words are said. */
export async function listen(context: CliContext, file: string, options: ListenOptions): Promise<void> {
  const sound = await read(context, file, options.rate);
  using vad = await Vad.load({
    sampleRate: sound.sampleRate,
    ...(options.model === undefined ? {} : { model: options.model }),
  });
  using words = options.wake === undefined ? undefined : await wakeWords(options, sound.sampleRate);
  const events: VadEvent[] = [];
  const detections: WakeWordDetection[] = [];
  for (let at = 0; at < sound.samples.length; at += CHUNK) {
    context.signal.throwIfAborted();
    const chunk = sound.samples.subarray(at, at + CHUNK);
    events.push(...vad.push(chunk));
    if (words !== undefined) detections.push(...words.push(chunk));
  }
  events.push(...vad.finish());
  const segments = events.filter((event): event is Segment => event.kind === "end");
  if (options.plot !== undefined) {
    const seconds = segments.map(({ start, end }) => ({
      start: start / HEARING_RATE,
      end: end / HEARING_RATE,
    }));
    await writeFile(options.plot, waveformSvg(sound.samples, sound.sampleRate, seconds));
  }
  const value = {
    seconds: sound.samples.length / sound.sampleRate,
    segments: segments.map(({ start, end, cut }) => ({
      start: start / HEARING_RATE,
      end: end / HEARING_RATE,
      cut,
    })),
    wakeWords: detections.map(({ name, score, position }) => ({ name, score, at: position / HEARING_RATE })),
  };
  context.result(value, describe);
}

function describe(value: {
  seconds: number;
  segments: readonly { start: number; end: number; cut: boolean }[];
  wakeWords: readonly { name: string; score: number; at: number }[];
}): string {
  const lines = [
    ...value.segments.map(({ start, end, cut }) => ({
      at: start,
      text: `${time(start)} - ${time(end)}  speech${cut ? " (cut here, goes on)" : ""}`,
    })),
    ...value.wakeWords.map(({ name, score, at }) => ({
      at,
      text: `${time(at)}             ${name} (${score.toFixed(3)})`,
    })),
  ].sort((a, b) => a.at - b.at);
  if (lines.length === 0) return `No speech in ${time(value.seconds).trim()} s.`;
  return lines.map((line) => line.text).join("\n");
}

const time = (seconds: number) => seconds.toFixed(2).padStart(8);

async function read(context: CliContext, file: string, rate: number | undefined): Promise<Sound> {
  const bytes = file === "-" ? await piped(context) : await readOrExplain(file);
  if (rate === undefined || bytes.subarray(0, 4).toString("latin1") === "RIFF") return readWav(bytes);
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 2));
  return { samples: new Int16Array(new Uint8Array(whole).buffer), sampleRate: rate };
}

async function readOrExplain(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new LocalInferenceError("MODEL_NOT_FOUND", `${file} cannot be read.`, { cause });
  }
}

async function piped(context: CliContext): Promise<Buffer> {
  if (context.io.in.isTTY)
    throw invalidInput("There is no sound to listen to.", {
      hint: "Pipe a WAV file in, or 16-bit samples with --rate.",
    });
  const chunks: Buffer[] = [];
  for await (const chunk of context.io.in) {
    context.signal.throwIfAborted();
    chunks.push(Buffer.from(chunk as Buffer));
  }
  return Buffer.concat(chunks);
}

function wakeWords({ wake = [], threshold }: ListenOptions, sampleRate: number): Promise<WakeWord> {
  const phrases = wake.map((head) => ({
    name: basename(head).replace(/\.(onnx|safetensors)$/, ""),
    head,
    ...(threshold === undefined ? {} : { threshold }),
  }));
  return WakeWord.load({ phrases, sampleRate });
}
