// Values that were used lately, up to a weight. The newest is kept at any weight.

interface Held<T> {
  value: Promise<T>;
  weight: number;
}

export class Lately<T> {
  readonly #held = new Map<number, Held<T>>();

  constructor(
    /** Greatest weight of all values together. */
    readonly most: number,
    readonly load: (key: number) => Promise<{ value: T; weight: number }>,
  ) {}

  /** Returns a value, and loads it if it is not held. Requests at the same time load once. */
  get(key: number): Promise<T> {
    const known = this.#held.get(key);
    if (known) {
      this.#held.delete(key);
      this.#held.set(key, known);
      return known.value;
    }
    const loaded = this.load(key);
    const held: Held<T> = { value: loaded.then((one) => one.value), weight: 0 };
    this.#held.set(key, held);
    loaded.then(
      ({ weight }) => {
        held.weight = weight;
        this.#trim();
      },
      () => this.#held.delete(key),
    );
    return held.value;
  }

  #trim(): void {
    let all = 0;
    for (const one of this.#held.values()) all += one.weight;
    for (const [key, one] of this.#held) {
      if (all <= this.most || this.#held.size === 1) return;
      this.#held.delete(key);
      all -= one.weight;
    }
  }
}
