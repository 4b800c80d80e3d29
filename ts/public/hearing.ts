// `@elizaos/plugin-local-inference/hearing`: who speaks when, wake words, sample rates; synchronous, on the CPU.
export {
  resamplerTransform,
  type SampleFormat,
  type SampleStreamOptions,
  vadTransform,
  wakeWordTransform,
} from "../hearing/duplex.js";
export { Resampler, type ResamplerOptions } from "../hearing/resampler.js";
export type { Samples } from "../hearing/samples.js";
export { HEARING_RATE, Vad, type VadOptions } from "../hearing/vad.js";
export type { VadEvent } from "../hearing/vad-event.js";
export type { VadStream, VadStreamOptions } from "../hearing/vad-stream.js";
export {
  type WakePhrase,
  WakeWord,
  type WakeWordDetection,
  type WakeWordOptions,
} from "../hearing/wake-word.js";
export { readWav, type WavSound } from "../hearing/wav.js";
