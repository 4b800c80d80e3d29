/** Connections over which one file is downloaded. */
export const DEFAULT_CONNECTIONS = 4;

/** Bytes of the disk that a download leaves free. */
export const DEFAULT_RESERVE_BYTES = 64 * 1024 * 1024;
