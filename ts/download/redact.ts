/** An address as it may be shown: without user name, password and query, which can carry signatures. */
export function shownUrl(url: URL | string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** Replaces the secrets, and whatever looks like a credential in an address, in a text that may be shown. */
export function redacted(text: string, secrets: readonly (string | undefined)[]): string {
  let shown = text;
  for (const secret of secrets) {
    if (secret !== undefined && secret !== "") shown = shown.replaceAll(secret, "[secret]");
  }
  return shown
    .replace(/\bhf_[A-Za-z0-9]{8,}/g, "[secret]")
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi, "$1")
    .replace(/\b(https?:\/\/[^\s?#"']+)[?#][^\s"']*/gi, "$1");
}
