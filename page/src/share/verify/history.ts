// What the control log of a task says of its lineages.

import { invalid } from "./invalid.ts";
import { ACTIVATED, DROPPED, REGISTERED, TRIMMED } from "./kinds.ts";
import { ByteReader } from "./reader.ts";
import type { Head } from "./hash.ts";
import { same } from "./text.ts";

/** Where a lineage forks from its parent. */
export interface Fork extends Head {
  parent: number;
}

/** Where a trimmed lineage begins, and the chunk of its base. */
export interface Trim extends Head {
  base: Uint8Array;
}

/** A lineage as it was registered. */
export interface Registered {
  /** The line of the event. */
  line: number;
  fork: Fork | null;
}

export class History {
  readonly registered = new Map<number, Registered>();
  readonly trimmed = new Map<number, Trim>();
  readonly dropped = new Set<number>();
  active: number | null = null;
  /** Kinds of events whose bodies the file does not have. */
  readonly hidden = new Set<number>();

  /** Takes a control event. */
  take(kind: number, payload: Uint8Array, line: number): void {
    const reader = new ByteReader(payload);
    if (kind === REGISTERED) {
      const lineage = reader.number();
      if (this.registered.has(lineage)) invalid(`lineage ${lineage} is registered already`);
      this.registered.set(lineage, { line, fork: forkIn(reader) });
    } else if (kind === TRIMMED) {
      const lineage = reader.number();
      const next = reader.number();
      const [hash, base] = [reader.take(32).slice(), reader.take(32).slice()];
      this.trimmed.set(lineage, { next, hash, base });
    } else if (kind === ACTIVATED) this.active = reader.number();
    else if (kind === DROPPED) this.dropped.add(reader.number());
  }

  /**
   * Takes the first event of a lineage. It says where the lineage begins if the file does not have
   * its registration, and otherwise says the same.
   */
  open(lineage: number, payload: Uint8Array, line: number): void {
    const fork = forkIn(new ByteReader(payload));
    const known = this.registered.get(lineage);
    if (known && !isSame(known.fork, fork)) invalid("it opens elsewhere than it was registered");
    if (!known && this.hidden.has(REGISTERED)) this.registered.set(lineage, { line, fork });
  }
}

function isSame(a: Fork | null, b: Fork | null): boolean {
  if (!a || !b) return a === b;
  return a.parent === b.parent && a.next === b.next && same(a.hash, b.hash);
}

/** Reads a cause, a description, and a parent. */
function forkIn(reader: ByteReader): Fork | null {
  reader.number();
  reader.option(() => reader.string());
  return reader.option(() => ({
    parent: reader.number(),
    next: reader.number(),
    hash: reader.take(32).slice(),
  }));
}
