/** Places are counted in samples at 16 kHz since the beginning of the stream, whatever rate is pushed. */
export type VadEvent =
  /** 32 ms were judged. */
  | { readonly kind: "window"; readonly start: number; readonly end: number; readonly probability: number }
  /** A segment began at `start`, pre-roll included; it was certain at `end`. */
  | { readonly kind: "start"; readonly start: number; readonly end: number; readonly speechStart: number }
  /** A segment is complete. `audio` is its sound at 16 kHz: `end - start` samples. */
  | {
      readonly kind: "end";
      readonly start: number;
      readonly end: number;
      readonly speechStart: number;
      readonly speechEnd: number;
      /** It was cut because it grew too long; the next segment begins at `end`. */
      readonly cut: boolean;
      readonly audio: Float32Array;
    }
  /** What began as speech was too short. */
  | { readonly kind: "dropped"; readonly start: number; readonly end: number };
