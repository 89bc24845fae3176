// Verification of one task: chains of its logs, forks, checkpoints, and the heads it states.

import { eventOf } from "./event.ts";
import type { Event } from "./event.ts";
import { Chain, INLINE, checkpointId } from "./hash.ts";
import type { Head } from "./hash.ts";
import { Hashes } from "./hashes.ts";
import { History } from "./history.ts";
import { invalid } from "./invalid.ts";
import { ACTIVATED, MARKED, TRIMMED } from "./kinds.ts";
import { CONTROL, logNumber } from "./line.ts";
import type { Line, Point } from "./line.ts";
import { hex, same } from "./text.ts";

const FIELDS = new Set(["task", "user", "created_us", "origin", "active", "heads", "begins"]);
const OPENED = 1;

/** Properties of the file that its events depend on. */
export interface FileContext {
  version: number;
  keyed: boolean;
  checkList: (list: Uint8Array) => void;
  /** Says if a chunk came before. */
  hasChunk: (id: Uint8Array) => boolean;
}

/** Counts of events. */
export interface EventCounts {
  whole: number;
  withheld: number;
  trusted: number;
}

/** A log whose events were read so far. */
interface Log {
  name: string;
  chain: Chain;
  head: Head;
  hashes: Hashes;
  /** The number of events since the last hash of the file, or -1 where no hash can be computed. */
  open: number;
}

/** Says what is wrong with a log, or with a line. */
export type Report = (what: string, line: number, log?: string) => void;

export class TaskCheck {
  readonly active: number;
  /** The id, the user, and the active lineage. */
  readonly named: readonly string[];
  readonly #origin: Uint8Array;
  readonly #heads: Point[];
  readonly #begins = new Map<number, Point>();
  readonly #logs = new Map<number, Log>();
  readonly #history = new History();

  constructor(
    line: Line,
    /** The number of the line. */
    readonly at: number,
    readonly file: FileContext,
    readonly counts: EventCounts,
  ) {
    line.only(FIELDS);
    this.named = ["task", "user", "active"].map((name) => line.need(name));
    line.big("created_us");
    this.#origin = line.needId("origin", 16);
    this.active = logNumber(line.need("active"));
    if (!line.has("heads")) invalid("`heads` is missing");
    this.#heads = line.points("heads");
    if (new Set(this.#heads.map(({ log }) => log)).size < this.#heads.length) {
      invalid("`heads` has a log twice");
    }
    for (const begin of line.points("begins")) {
      const number = logNumber(begin.log);
      if (number === CONTROL) invalid("`begins` has lineages only");
      this.#begins.set(number, begin);
    }
  }

  /** The ends of the logs so far, the control log first. */
  get heads(): { log: string; next: string; hash: string }[] {
    const order = (number: number) => (number === CONTROL ? -1 : number);
    const logs = [...this.#logs].sort(([a], [b]) => order(a) - order(b));
    return logs.map(([, { name, head }]) => {
      return { log: name, next: String(head.next), hash: hex(head.hash) };
    });
  }

  /** Takes an event. Throws `Invalid` if something of it is wrong; the next one can follow. */
  event(line: Line, lineNumber: number, name: string, at: number): void {
    const number = logNumber(name);
    let log = this.#logs.get(number);
    let stated: Uint8Array | undefined;
    let computed: Uint8Array | null = null;
    let isTaken = false;
    try {
      stated = line.id("hash", 32);
      const event = eventOf(line, number, this.file.version, this.file.checkList);
      if (event.withheld) this.counts[event.body ? "withheld" : "trusted"]++;
      log ??= this.#begin(name, number, event, lineNumber);
      if (at !== log.head.next) invalid(`offset ${log.head.next} comes next`);
      const isComputed = event.body && !this.file.keyed;
      const isKnown = log.open >= 0;
      if (isComputed) computed = log.chain.next(log.head, event.header, event.body!);
      else computed = stated ?? invalid("`hash` is missing");
      // Later lines need what it says, even if its hash is another.
      if (number === CONTROL) this.#learn(event, lineNumber);
      const previous = line.id("previous", 32);
      if (previous) this.#compare(log, log.head.hash, previous);
      else if (!isComputed && log.open > 0) invalid("`previous` is missing");
      if (stated) this.#compare(log, computed, stated);
      if (isKnown) {
        this.#checkpoint(line, event, log);
        if (isComputed && stated) this.counts.whole++;
        else if (isComputed) log.open++;
      }
      isTaken = true;
    } finally {
      log ??= this.#newLog(name, number, at, new Uint8Array(32));
      if (!isTaken) log.open = stated ? 0 : -1;
      if (at !== log.head.next) log.hashes.restart(at + 1);
      log.head = { next: at + 1, hash: stated ?? computed ?? log.head.hash };
      if (number !== CONTROL) log.hashes.push(log.head.hash);
    }
  }

  /** Compares a hash. If it is equal, the events since the last one are whole. */
  #compare(log: Log, computed: Uint8Array, stated: Uint8Array): void {
    const { open } = log;
    log.open = 0;
    if (open < 0) return;
    if (!same(computed, stated)) {
      const from = log.head.next - open;
      invalid(`the chain hash is ${hex(computed)}, and not the one stated: from @${from} on`);
    }
    this.counts.whole += open;
  }

  /** Begins a log where the file says that it begins. */
  #begin(name: string, number: number, event: Event, lineNumber: number): Log {
    const root = () => this.#newLog(name, number, 0, new Chain(this.#origin, number).root());
    if (number === CONTROL) return root();
    const history = this.#history;
    const payload = event.form === INLINE ? event.payload : event.shown;
    if (payload && event.kind === OPENED) history.open(number, payload, lineNumber);
    const registered = history.registered.get(number);
    if (!registered) invalid(`lineage ${number} was not registered`);
    const from = this.#begins.get(number) ?? registered.fork;
    return from ? this.#newLog(name, number, from.next, from.hash) : root();
  }

  #newLog(name: string, number: number, next: number, hash: Uint8Array): Log {
    const chain = new Chain(this.#origin, number);
    const log: Log = { name, chain, head: { next, hash }, hashes: new Hashes(next), open: 0 };
    log.hashes.push(hash);
    this.#logs.set(number, log);
    return log;
  }

  /** Compares the id of the checkpoint that an event marks. */
  #checkpoint(line: Line, event: Event, log: Log): void {
    const stated = line.id("checkpoint", 32);
    // The id of a mark that is withheld is a replacement.
    if (event.withheld) return;
    if (log.chain.number === CONTROL || event.kind !== MARKED || event.form !== INLINE) {
      if (stated) invalid("it marks no checkpoint");
      return;
    }
    const id = checkpointId(log.chain, log.head, event.time, event.payload!);
    if (!stated || !same(id, stated)) invalid(`the checkpoint that it marks has the id ${hex(id)}`);
  }

  #learn(event: Event, lineNumber: number): void {
    const payload = event.payload ?? event.shown;
    if (payload) this.#history.take(event.kind, payload, lineNumber);
    else if (event.withheld) this.#history.hidden.add(event.kind);
  }

  /** Checks the task after its last event. */
  end(report: Report): void {
    this.#checkHeads(report);
    const { registered, dropped, trimmed, active, hidden } = this.#history;
    for (const [lineage, { line, fork }] of registered) {
      const log = String(lineage);
      if (!this.#logs.has(lineage)) {
        if (!dropped.has(lineage)) report("its events are not in the file", line, log);
        continue;
      }
      const there = fork && this.hashAt(fork.parent, fork.next);
      if (fork && there && !same(there, fork.hash)) {
        report(`it forks from lineage ${fork.parent} with another hash`, line, log);
      } else if (fork && !there && !this.#begins.has(lineage)) {
        report(`it forks from events of lineage ${fork.parent} that are not there`, line, log);
      }
      if (dropped.has(lineage)) report("it was dropped, and is there", line, log);
      const [begin, base] = [this.#begins.get(lineage), trimmed.get(lineage)];
      const equal = begin && base && begin.next === base.next && same(begin.hash, base.hash);
      if (!equal && (begin || base) && !hidden.has(TRIMMED)) {
        report("it begins elsewhere than where it was trimmed", this.at, log);
      }
      if (equal && !this.file.hasChunk(base.base)) report("its base is missing", this.at, log);
    }
    if (active !== this.active && !hidden.has(ACTIVATED)) {
      report(`its active lineage is ${active}, and not ${this.active}`, this.at);
    }
  }

  #checkHeads(report: Report): void {
    const stated = new Set(this.#heads.map(({ log }) => log));
    for (const { name } of this.#logs.values()) {
      if (!stated.has(name)) report("`heads` does not have this log", this.at, name);
    }
    for (const { log, next, hash } of this.#heads) {
      const found = this.#logs.get(logNumber(log));
      if (found?.head.next !== next) {
        report(`it ends at offset ${next}, ${found?.head.next ?? 0} came`, this.at, log);
      } else if (!same(found.head.hash, hash)) {
        const last = hex(found.head.hash);
        report(`its last hash is ${last}, and not that of \`heads\``, this.at, log);
      } else this.counts.whole += Math.max(found.open, 0);
    }
  }

  /** Returns the hash of a lineage at an offset, or `null` if the file does not tell it. */
  hashAt(lineage: number, offset: number): Uint8Array | null {
    // An offset before the own events of a lineage is one of its parent.
    for (let steps = 0; steps <= this.#logs.size; steps++) {
      const log = this.#logs.get(lineage);
      if (!log) return null;
      if (offset >= log.hashes.start) return log.hashes.at(offset);
      const fork = this.#history.registered.get(lineage)?.fork;
      if (!fork || this.#begins.has(lineage)) return null;
      lineage = fork.parent;
    }
    return null;
  }
}
