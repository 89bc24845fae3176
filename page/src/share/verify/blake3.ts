// BLAKE3 without a key, with outputs of 32 bytes. It allocates nothing for a short input, and so is
// several times faster than a general one. The tests compare it with another implementation.

const IV = Int32Array.of(
  ...[
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  ],
);
const BLOCK = 64;
const CHUNK = 1024;
const CHUNK_START = 1;
const CHUNK_END = 2;
const PARENT = 4;
const ROOT = 8;

/** Places of the words of a message in each round. */
const ORDER = (() => {
  const next = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
  let row = next.map((_, at) => at);
  const rows: number[] = [];
  for (let round = 0; round < 7; round++) {
    rows.push(...row);
    row = next.map((at) => row[at]!);
  }
  return Uint8Array.from(rows);
})();

/** The words of the block that is compressed. */
const words = new Int32Array(16);
const wordBytes = new Uint8Array(words.buffer);
const isLittleEndian = new Uint8Array(Int32Array.of(1).buffer)[0] === 1;

/** Puts a part of bytes into `words`, and zeros after it. */
function load(bytes: Uint8Array, from: number, to: number): void {
  if (isLittleEndian) {
    const length = to - from;
    for (let i = 0; i < length; i++) wordBytes[i] = bytes[from + i]!;
    if (length < BLOCK) wordBytes.fill(0, length);
    return;
  }
  words.fill(0);
  for (let i = from; i < to; i++) words[(i - from) >> 2]! |= bytes[i]! << (8 * ((i - from) & 3));
}

/** Compresses `words` into a state of 8 words. */
function compress(state: Int32Array, counter: number, length: number, flags: number): void {
  const m = words;
  let a0 = state[0]!,
    a1 = state[1]!,
    a2 = state[2]!,
    a3 = state[3]!;
  let b0 = state[4]!,
    b1 = state[5]!,
    b2 = state[6]!,
    b3 = state[7]!;
  let c0 = IV[0]!,
    c1 = IV[1]!,
    c2 = IV[2]!,
    c3 = IV[3]!;
  let d0 = counter | 0,
    d1 = (counter / 2 ** 32) | 0,
    d2 = length,
    d3 = flags;
  for (let at = 0; at < 112; at += 16) {
    // Columns.
    a0 = (a0 + b0 + m[ORDER[at]!]!) | 0;
    d0 ^= a0;
    d0 = (d0 >>> 16) | (d0 << 16);
    c0 = (c0 + d0) | 0;
    b0 ^= c0;
    b0 = (b0 >>> 12) | (b0 << 20);
    a0 = (a0 + b0 + m[ORDER[at + 1]!]!) | 0;
    d0 ^= a0;
    d0 = (d0 >>> 8) | (d0 << 24);
    c0 = (c0 + d0) | 0;
    b0 ^= c0;
    b0 = (b0 >>> 7) | (b0 << 25);
    a1 = (a1 + b1 + m[ORDER[at + 2]!]!) | 0;
    d1 ^= a1;
    d1 = (d1 >>> 16) | (d1 << 16);
    c1 = (c1 + d1) | 0;
    b1 ^= c1;
    b1 = (b1 >>> 12) | (b1 << 20);
    a1 = (a1 + b1 + m[ORDER[at + 3]!]!) | 0;
    d1 ^= a1;
    d1 = (d1 >>> 8) | (d1 << 24);
    c1 = (c1 + d1) | 0;
    b1 ^= c1;
    b1 = (b1 >>> 7) | (b1 << 25);
    a2 = (a2 + b2 + m[ORDER[at + 4]!]!) | 0;
    d2 ^= a2;
    d2 = (d2 >>> 16) | (d2 << 16);
    c2 = (c2 + d2) | 0;
    b2 ^= c2;
    b2 = (b2 >>> 12) | (b2 << 20);
    a2 = (a2 + b2 + m[ORDER[at + 5]!]!) | 0;
    d2 ^= a2;
    d2 = (d2 >>> 8) | (d2 << 24);
    c2 = (c2 + d2) | 0;
    b2 ^= c2;
    b2 = (b2 >>> 7) | (b2 << 25);
    a3 = (a3 + b3 + m[ORDER[at + 6]!]!) | 0;
    d3 ^= a3;
    d3 = (d3 >>> 16) | (d3 << 16);
    c3 = (c3 + d3) | 0;
    b3 ^= c3;
    b3 = (b3 >>> 12) | (b3 << 20);
    a3 = (a3 + b3 + m[ORDER[at + 7]!]!) | 0;
    d3 ^= a3;
    d3 = (d3 >>> 8) | (d3 << 24);
    c3 = (c3 + d3) | 0;
    b3 ^= c3;
    b3 = (b3 >>> 7) | (b3 << 25);
    // Diagonals.
    a0 = (a0 + b1 + m[ORDER[at + 8]!]!) | 0;
    d3 ^= a0;
    d3 = (d3 >>> 16) | (d3 << 16);
    c2 = (c2 + d3) | 0;
    b1 ^= c2;
    b1 = (b1 >>> 12) | (b1 << 20);
    a0 = (a0 + b1 + m[ORDER[at + 9]!]!) | 0;
    d3 ^= a0;
    d3 = (d3 >>> 8) | (d3 << 24);
    c2 = (c2 + d3) | 0;
    b1 ^= c2;
    b1 = (b1 >>> 7) | (b1 << 25);
    a1 = (a1 + b2 + m[ORDER[at + 10]!]!) | 0;
    d0 ^= a1;
    d0 = (d0 >>> 16) | (d0 << 16);
    c3 = (c3 + d0) | 0;
    b2 ^= c3;
    b2 = (b2 >>> 12) | (b2 << 20);
    a1 = (a1 + b2 + m[ORDER[at + 11]!]!) | 0;
    d0 ^= a1;
    d0 = (d0 >>> 8) | (d0 << 24);
    c3 = (c3 + d0) | 0;
    b2 ^= c3;
    b2 = (b2 >>> 7) | (b2 << 25);
    a2 = (a2 + b3 + m[ORDER[at + 12]!]!) | 0;
    d1 ^= a2;
    d1 = (d1 >>> 16) | (d1 << 16);
    c0 = (c0 + d1) | 0;
    b3 ^= c0;
    b3 = (b3 >>> 12) | (b3 << 20);
    a2 = (a2 + b3 + m[ORDER[at + 13]!]!) | 0;
    d1 ^= a2;
    d1 = (d1 >>> 8) | (d1 << 24);
    c0 = (c0 + d1) | 0;
    b3 ^= c0;
    b3 = (b3 >>> 7) | (b3 << 25);
    a3 = (a3 + b0 + m[ORDER[at + 14]!]!) | 0;
    d2 ^= a3;
    d2 = (d2 >>> 16) | (d2 << 16);
    c1 = (c1 + d2) | 0;
    b0 ^= c1;
    b0 = (b0 >>> 12) | (b0 << 20);
    a3 = (a3 + b0 + m[ORDER[at + 15]!]!) | 0;
    d2 ^= a3;
    d2 = (d2 >>> 8) | (d2 << 24);
    c1 = (c1 + d2) | 0;
    b0 ^= c1;
    b0 = (b0 >>> 7) | (b0 << 25);
  }
  state[0] = a0 ^ c0;
  state[1] = a1 ^ c1;
  state[2] = a2 ^ c2;
  state[3] = a3 ^ c3;
  state[4] = b0 ^ d0;
  state[5] = b1 ^ d1;
  state[6] = b2 ^ d2;
  state[7] = b3 ^ d3;
}

/** Compresses a part of at most 1024 bytes: the chunk of a number. */
function chunk(
  state: Int32Array,
  bytes: Uint8Array,
  from: number,
  to: number,
  number: number,
  root: number,
): void {
  state.set(IV);
  let flags = CHUNK_START;
  for (; to - from > BLOCK; from += BLOCK) {
    load(bytes, from, from + BLOCK);
    compress(state, number, BLOCK, flags);
    flags = 0;
  }
  load(bytes, from, to);
  compress(state, number, to - from, flags | CHUNK_END | root);
}

/** Compresses the values of two subtrees into the second one. */
function parent(left: Int32Array, right: Int32Array, root: number): void {
  words.set(left, 0);
  words.set(right, 8);
  right.set(IV);
  compress(right, 0, BLOCK, PARENT | root);
}

function output(state: Int32Array): Uint8Array {
  const bytes = new Uint8Array(32);
  for (let i = 0; i < 32; i++) bytes[i] = state[i >> 2]! >>> (8 * (i & 3));
  return bytes;
}

/** Hash of bytes that come in parts. */
export class Blake3 {
  /** Values of subtrees, larger ones first, and room for one more. */
  #stack: Int32Array[] = [];
  #depth = 0;
  #chunks = 0;
  #buffer = new Uint8Array(CHUNK);
  #used = 0;

  update(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      // The last chunk is known to be the last at the end only.
      if (this.#used === CHUNK) {
        this.#push(this.#buffer, 0);
        this.#used = 0;
      }
      if (this.#used === 0) for (; bytes.length - at > CHUNK; at += CHUNK) this.#push(bytes, at);
      const take = Math.min(CHUNK - this.#used, bytes.length - at);
      this.#buffer.set(bytes.subarray(at, at + take), this.#used);
      this.#used += take;
      at += take;
    }
  }

  /** Returns the hash. Nothing can follow. */
  digest(): Uint8Array {
    const last = this.#state();
    chunk(last, this.#buffer, 0, this.#used, this.#chunks, this.#depth === 0 ? ROOT : 0);
    while (this.#depth > 0) parent(this.#stack[--this.#depth]!, last, this.#depth === 0 ? ROOT : 0);
    return output(last);
  }

  /** Returns the state above the stack. */
  #state(): Int32Array {
    return (this.#stack[this.#depth] ??= new Int32Array(8));
  }

  /** Adds a whole chunk that is not the last one. */
  #push(bytes: Uint8Array, from: number): void {
    const state = this.#state();
    chunk(state, bytes, from, from + CHUNK, this.#chunks++, 0);
    // As many subtrees are whole as the number of chunks ends with zeros.
    for (let count = this.#chunks; count % 2 === 0; count /= 2) {
      const left = this.#stack[--this.#depth]!;
      parent(left, state, 0);
      this.#stack[this.#depth] = state;
      this.#stack[this.#depth + 1] = left;
    }
    this.#depth++;
  }
}

const short = new Int32Array(8);

/** Returns the hash of bytes. */
export function blake3(bytes: Uint8Array): Uint8Array {
  if (bytes.length > CHUNK) {
    const hash = new Blake3();
    hash.update(bytes);
    return hash.digest();
  }
  chunk(short, bytes, 0, bytes.length, 0, ROOT);
  return output(short);
}
