/** A size for people: `512 MiB`, `7.5 GiB`. */
export function bytesText(bytes: number): string {
  const mebibytes = bytes / 1024 ** 2;
  return mebibytes < 1024 ? `${Math.ceil(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
}
