import { callNative, loadNative } from "../native/addon.js";

/** The sound of a WAV file. */
export interface WavSound {
  /** Samples a second. */
  readonly sampleRate: number;
  /** Channels of the file. */
  readonly channels: number;
  /** One channel: the mean of those of the file. */
  readonly samples: Float32Array;
}

/**
 * Reads a WAV file: PCM of 8 to 32 bits or floating point, also with headers of streams and broken lengths.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for everything else, saying what it is
 */
export async function readWav(bytes: Uint8Array): Promise<WavSound> {
  const addon = await loadNative();
  return callNative(() => addon.readWav(bytes));
}
