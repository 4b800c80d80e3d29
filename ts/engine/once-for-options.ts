/** Opens one thing for each set of options; calls at the same time share it, and a failure is forgotten. */
export class OnceForOptions<T> {
  readonly #made = new Map<string, Promise<T>>();

  get(options: object, make: () => Promise<T>): Promise<T> {
    const key = optionsKey(options);
    let value = this.#made.get(key);
    if (value === undefined) {
      value = make().catch((error: unknown) => {
        this.#made.delete(key);
        throw error;
      });
      this.#made.set(key, value);
    }
    return value;
  }
}

/** The same text for options that mean the same. */
export function optionsKey(options: object | undefined): string {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  return JSON.stringify(given.sort(([a], [b]) => (a < b ? -1 : 1)));
}
