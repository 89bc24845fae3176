// The digest of all bytes of an export.

import { Blake3 } from "./blake3.ts";

const BUFFER = 64 << 10;
const NEWLINE = 10;

/** Hash of lines, each with its line end. */
export class Digest {
  #hash = new Blake3();
  #encoder = new TextEncoder();
  #buffer = new Uint8Array(BUFFER);
  #used = 0;
  #flushed = 0;

  /** The number of bytes. */
  get bytes(): number {
    return this.#flushed + this.#used;
  }

  line(text: string): void {
    let rest = text;
    for (;;) {
      const { read, written } = this.#encoder.encodeInto(rest, this.#buffer.subarray(this.#used));
      this.#used += written;
      if (read === rest.length) break;
      rest = rest.slice(read);
      this.#flush();
    }
    if (this.#used === BUFFER) this.#flush();
    this.#buffer[this.#used++] = NEWLINE;
  }

  /** Returns the hash. Nothing can follow. */
  end(): Uint8Array {
    this.#flush();
    return this.#hash.digest();
  }

  #flush(): void {
    this.#hash.update(this.#buffer.subarray(0, this.#used));
    this.#flushed += this.#used;
    this.#used = 0;
  }
}
