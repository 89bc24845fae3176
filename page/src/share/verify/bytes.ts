// A buffer of bytes in the variable encoding of the stored format.

const encoder = new TextEncoder();

/** Texts up to this length are copied character by character. */
const SHORT = 48;

function varintLength(value: number): number {
  return value <= 250 ? 1 : value <= 0xffff ? 3 : value <= 0xffff_ffff ? 5 : 9;
}

/** Writer of bytes. It is used again for each event: its bytes are valid until then. */
export class ByteWriter {
  #bytes = new Uint8Array(4096);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  /** Returns the bytes from a position on. They are not copied. */
  from(start: number): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(start, this.length);
  }

  /** Makes room for more bytes. */
  #room(more: number): void {
    const need = this.length + more;
    if (need <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(need, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  u8(value: number): void {
    this.#room(1);
    this.#bytes[this.length++] = value;
  }

  u32(value: number): void {
    this.#room(4);
    this.#view.setUint32(this.length, value, true);
    this.length += 4;
  }

  u64(value: number | bigint): void {
    this.#room(8);
    if (typeof value === "bigint") this.#view.setBigUint64(this.length, value, true);
    else {
      this.#view.setUint32(this.length, value % 2 ** 32, true);
      this.#view.setUint32(this.length + 4, value / 2 ** 32, true);
    }
    this.length += 8;
  }

  f64(value: number): void {
    this.#room(8);
    this.#view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  /** Puts an unsigned number in the shortest form. A number over 2^53 is a `bigint`. */
  varint(value: number | bigint): void {
    this.#room(9);
    if (value <= 250) this.#bytes[this.length++] = Number(value);
    else if (value <= 0xffff) {
      this.#bytes[this.length++] = 251;
      this.#view.setUint16(this.length, Number(value), true);
      this.length += 2;
    } else if (value <= 0xffff_ffff) {
      this.#bytes[this.length++] = 252;
      this.#view.setUint32(this.length, Number(value), true);
      this.length += 4;
    } else {
      this.#bytes[this.length++] = 253;
      this.u64(value);
    }
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Puts a text as UTF-8, without its length. */
  utf8(text: string): void {
    this.#room(3 * text.length);
    this.length += encoder.encodeInto(text, this.#bytes.subarray(this.length)).written;
  }

  /** Puts a part of a text: its length in bytes, and UTF-8. */
  text(text: string, from = 0, to = text.length): void {
    const start = this.length;
    const length = to - from;
    this.#room(3 * length + 9);
    this.varint(length);
    if (length <= SHORT) {
      const bytes = this.#bytes;
      let [at, put] = [from, this.length];
      for (; at < to; at++) {
        const char = text.charCodeAt(at);
        if (char > 127) break;
        bytes[put++] = char;
      }
      if (at === to) {
        this.length = put;
        return;
      }
    }
    const body = this.length;
    const free = this.#bytes.subarray(body);
    const { written } = encoder.encodeInto(text.slice(from, to), free);
    // More bytes than characters may need a longer number in front.
    const moved = start + varintLength(written);
    if (moved !== body) this.#bytes.copyWithin(moved, body, body + written);
    this.length = start;
    this.varint(written);
    this.length += written;
  }
}
