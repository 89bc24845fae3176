// The chain hashes of a log, packed: 32 bytes for each event.

/** Chain hashes by offset. */
export class Hashes {
  #bytes = new Uint8Array(32 * 64);
  #count = 0;

  constructor(public start: number) {}

  /** Begins again at an offset. */
  restart(start: number): void {
    this.start = start;
    this.#count = 0;
  }

  push(hash: Uint8Array): void {
    const at = 32 * this.#count++;
    if (at === this.#bytes.length) {
      const larger = new Uint8Array(2 * at);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(hash, at);
  }

  /** Returns the hash at an offset, which is that before its event. */
  at(offset: number): Uint8Array | null {
    const index = offset - this.start;
    if (index < 0 || index >= this.#count) return null;
    return this.#bytes.subarray(32 * index, 32 * index + 32);
  }
}
