// The addon's own declarations carry little documentation; the compiler holds the two to the same fields.

/** How the weights of a model are loaded. A value out of range is refused with `INVALID_INPUT`, which names the field. */
export interface LoadOptions {
  /**
   * Layers kept in GPU memory, from the last one down; 0 keeps all on the CPU, a number above the layers of the model
   * offloads all. Default: as many as fit.
   */
  gpuLayers?: number;
  /** Map the file instead of reading it, so that unused pages can leave memory. Default true. */
  useMmap?: boolean;
  /** Lock the weights in memory, which takes the right to lock that much. Default false. */
  useMlock?: boolean;
  /** Check the values of all tensors while loading, which reads the whole file. Default false. */
  checkTensors?: boolean;
  /** Load also when the weights do not fit the available memory. Default false: refused with `OUT_OF_MEMORY`. */
  ignoreMemoryLimit?: boolean;
  /**
   * Load the multi-token-prediction heads in the file, with which a context with `heads` drafts. Default false: they take the
   * memory of a layer each.
   */
  heads?: boolean;
  /** Bytes of memory to leave to others. Default: by the size of the machine. */
  memoryHeadroomBytes?: number;
}
