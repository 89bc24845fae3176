// Hashes of the stored format: bodies, chains, lists of chunks, and ids of checkpoints.

import { blake3 } from "./blake3.ts";
import { ByteWriter } from "./bytes.ts";
import { invalid } from "./invalid.ts";
import type { Ends } from "./line.ts";
import { ByteReader } from "./reader.ts";
import { sha256 } from "./sha256.ts";

/** Forms of a body. */
export const INLINE = 0;
export const CHUNKED = 1;

/** The bytes of the chunks into which a body is cut. */
const CHUNK = 256 << 10;

const ascii = (text: string) => new TextEncoder().encode(text);
const ROOT = ascii("milepost.root.1\0");
const EVENT = ascii("milepost.event.1");
const BODY = ascii("milepost.body.1\0");
const MARK = ascii("milepost.mark.1\0");
const ZEROS = new Uint8Array(32);

/** A point of a chain: the next offset, and the hash of what is before it. */
export interface Head {
  next: number;
  hash: Uint8Array;
}

const scratch = new ByteWriter();

/** Returns the hash of a body. */
export function bodyHash(salt: Uint8Array, form: number, payload: Uint8Array): Uint8Array {
  scratch.length = 0;
  scratch.raw(BODY);
  scratch.raw(salt);
  scratch.u8(form);
  scratch.raw(payload);
  return blake3(scratch.from(0));
}

/** Returns the payload of a chunked record: the ends of a body, and the chunks between them. */
export function chunkedBody(payload: Uint8Array, [before, after]: Ends): Uint8Array {
  const end = payload.length - after;
  if (before > end) invalid("`chunked` has ends of more bytes than the body");
  const content = payload.subarray(before, end);
  const record = new ByteWriter();
  record.varint(before);
  record.raw(payload.subarray(0, before));
  record.varint(content.length);
  record.varint(Math.ceil(content.length / CHUNK));
  for (let at = 0; at < content.length; at += CHUNK) {
    record.raw(blake3(content.subarray(at, at + CHUNK)));
  }
  record.varint(after);
  record.raw(payload.subarray(end));
  return record.from(0);
}

/** The chain of one log. */
export class Chain {
  constructor(
    readonly origin: Uint8Array,
    readonly number: number,
  ) {}

  /** Returns the hash before the first event of a root. */
  root(): Uint8Array {
    scratch.length = 0;
    scratch.raw(ROOT);
    scratch.raw(this.origin);
    scratch.u32(this.number);
    return blake3(scratch.from(0));
  }

  /** Returns the hash after the event at `head`. */
  next(head: Head, header: Uint8Array, body: Uint8Array): Uint8Array {
    scratch.length = 0;
    scratch.raw(EVENT);
    scratch.raw(this.origin);
    scratch.u32(this.number);
    scratch.u64(head.next);
    scratch.raw(head.hash);
    scratch.u32(header.length);
    scratch.raw(body);
    scratch.raw(header);
    return blake3(scratch.from(0));
  }
}

/** Returns the id of the checkpoint that a payload marks. `head` is the one before its event. */
export function checkpointId(
  chain: Chain,
  head: Head,
  time: number | bigint,
  payload: Uint8Array,
): Uint8Array {
  const mark = new ByteReader(payload);
  const id = new ByteWriter();
  const text = (bytes: Uint8Array | null) => {
    id.u8(bytes ? 1 : 0);
    id.u64(bytes?.length ?? 0);
    if (bytes) id.raw(bytes);
  };
  id.raw(MARK);
  id.raw(chain.origin);
  id.u32(chain.number);
  const at = mark.option(() => ({ next: mark.varint(), hash: mark.take(32) })) ?? head;
  id.u64(at.next);
  id.raw(at.hash);
  id.u64(head.next);
  id.raw(mark.option(() => mark.take(32)) ?? ZEROS);
  id.u64(time);
  const label = mark.option(() => mark.string());
  id.u8(mark.number());
  id.u8(mark.number());
  text(label);
  text(mark.option(() => mark.string()));
  const aliases = mark.number();
  id.u64(aliases);
  for (let i = 0; i < aliases; i++) text(mark.string());
  mark.end();
  return sha256(id.from(0));
}
