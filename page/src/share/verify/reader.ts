// Reads bytes in the variable encoding of the stored format.

import { invalid } from "./invalid.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reader of bytes. It throws `Invalid` where they end too early or are not as expected. */
export class ByteReader {
  #at = 0;
  #view: DataView;

  constructor(readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get left(): number {
    return this.bytes.length - this.#at;
  }

  /** Returns the next bytes, which are not copied. */
  take(length: number): Uint8Array {
    if (length > this.left) invalid("its bytes end too early");
    this.#at += length;
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  u8(): number {
    return this.take(1)[0]!;
  }

  varint(): number | bigint {
    const first = this.u8();
    if (first <= 250) return first;
    const at = this.#at;
    if (first === 251) return this.take(2) && this.#view.getUint16(at, true);
    if (first === 252) return this.take(4) && this.#view.getUint32(at, true);
    if (first !== 253) invalid("its bytes have no number where one has to be");
    const large = (this.take(8), this.#view.getBigUint64(at, true));
    return large <= Number.MAX_SAFE_INTEGER ? Number(large) : large;
  }

  /** Returns a number that is exact as a `number`. */
  number(): number {
    const value = this.varint();
    return typeof value === "number" ? value : invalid("its bytes have a number over 2^53");
  }

  /** Returns the bytes of a string, which are not copied. */
  string(): Uint8Array {
    const bytes = this.take(this.number());
    if (bytes.some((byte) => byte > 127)) utf8.decode(bytes);
    return bytes;
  }

  /** Returns an absent value as `null`. */
  option<T>(read: () => T): T | null {
    const tag = this.u8();
    if (tag > 1) invalid("its bytes have no option where one has to be");
    return tag === 1 ? read() : null;
  }

  /** Throws if bytes are left. */
  end(): void {
    if (this.left > 0) invalid("bytes follow its last field");
  }
}
