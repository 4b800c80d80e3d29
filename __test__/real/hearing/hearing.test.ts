import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { LocalInferenceError } from "../../../ts/errors.js";
import {
  Resampler,
  readWav,
  Vad,
  type VadEvent,
  vadTransform,
  WakeWord,
} from "../../../ts/public/hearing.js";

const vectors = new URL("../../../src/audio/tests/vectors/", import.meta.url);
const music = () => readWav(readFileSync(new URL("music.wav", vectors)));

test("music is no speech, in floats and in integers, in one chunk and in many", async () => {
  const { samples, sampleRate } = await music();
  expect(sampleRate).toBe(16_000);
  using vad = await Vad.load();
  const whole = [...vad.push(samples), ...vad.finish()];
  const integers = Int16Array.from(samples, (sample) => Math.round(sample * 32_768));
  const parts: VadEvent[] = [];
  for (let at = 0; at < integers.length; at += 333) parts.push(...vad.push(integers.subarray(at, at + 333)));
  expect([...parts, ...vad.finish()]).toEqual(whole);
  expect(whole.filter((event) => event.kind === "window")).toHaveLength(188);
});

test("what is no sound is refused with advice, and changes nothing", async () => {
  using vad = await Vad.load();
  const gone = new Float32Array(8);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  const wrong = [
    gone,
    new Float32Array(new SharedArrayBuffer(32)),
    new Float64Array(8),
    [0, 1],
    new Float32Array([Number.NaN]),
  ];
  for (const samples of wrong) {
    const push = () => vad.push(samples as Float32Array);
    expect(push).toThrow(LocalInferenceError);
    expect(push).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  }
  expect(vad.push(new Float32Array(512))).toHaveLength(1);
  await expect(Vad.load({ sampleRate: 1 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
  await expect(Vad.load({ onset: 2 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
});

test("what is closed says so", async () => {
  const vad = await Vad.load();
  vad.close();
  vad.close();
  expect(() => vad.push(new Float32Array(1))).toThrow(expect.objectContaining({ code: "CLOSED" }));
});

test("a stream gives its events in order and ends", async () => {
  using vad = await Vad.load();
  const stream = vad.stream();
  stream.pushFrame(new Float32Array(2048));
  stream.endInput();
  const starts: number[] = [];
  for await (const event of stream) starts.push(event.start);
  expect(starts).toEqual([0, 512, 1024, 1536]);
});

test("a Node stream of bytes becomes events, however the bytes are cut", async () => {
  using vad = await Vad.load({ sampleRate: 8_000 });
  const bytes = Buffer.alloc(8_000 * 2);
  const cut = Array.from({ length: 41 }, (_, at) => bytes.subarray(at * 391, (at + 1) * 391));
  const events: VadEvent[] = await Readable.from(cut, { objectMode: false })
    .pipe(vadTransform(vad))
    .toArray();
  expect(events.map((event) => event.kind)).toEqual(Array.from({ length: 32 }, () => "window"));
});

test("a resampler gives as many samples as the ratio says", async () => {
  using resampler = await Resampler.load({ from: 44_100, to: 16_000 });
  const out = resampler.push(new Float32Array(44_100)).length + resampler.finish().length;
  expect(out).toBe(16_000);
});

test("a head that is none is refused", async () => {
  const load = (head: string | Uint8Array) => WakeWord.load({ phrases: [{ name: "x", head }] });
  await expect(load("/nowhere/x.onnx")).rejects.toMatchObject({ code: "MODEL_NOT_FOUND" });
  await expect(load(new Uint8Array(50))).rejects.toMatchObject({ code: "MODEL_INVALID" });
});
