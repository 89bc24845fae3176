// Verifies an export, line by line: docs/SHARE.md and docs/EXPORT.md say what is compared.

import { blake3 } from "./blake3.ts";
import { Digest } from "./digest.ts";
import { checkList } from "./event.ts";
import { Invalid, brief, invalid } from "./invalid.ts";
import { Line } from "./line.ts";
import { TaskCheck } from "./task.ts";
import type { FileContext } from "./task.ts";
import { hex, same } from "./text.ts";

/** Something that is wrong. */
export interface Fault {
  /** The line, from 1. */
  line: number;
  /** `control`, or the number of a lineage. */
  log?: string;
  /** The offset of an event. */
  at?: string;
  what: string;
}

export interface Verdict {
  /** The number of events. */
  events: number;
  /** Those whose hash is the one of their line. It is 0 for the file of a keyed store. */
  whole: number;
  /** Those whose body is not in the file. Their chain hashes are compared. */
  withheld: number;
  /** Those whose hash is taken on trust. */
  trusted: number;
  /** The task, its user and its active lineage, as the export has them. */
  task: readonly string[];
  /** The ends of the logs of the last task. */
  heads: { log: string; next: string; hash: string }[];
  /** The chain hash at the end of the active lineage, or an empty text. */
  head: string;
  /** Set if the hashes have a key, so that none is compared. */
  keyed: boolean;
  /** Set if the digest of the last line is that of the lines before it. */
  digest: boolean;
  /** The first faults. */
  faults: Fault[];
  /** The number of faults after them. */
  faultsMore: number;
}

const FAULTS_MAX = 100;
const CHUNK_MAX = 1 << 20;
const HEADER = new Set(["milepost_export", "tasks", "files", "redacted", "key"]);
const CHUNK = new Set(["chunk", "pieces", "base64"]);
const END = new Set(["end", "digest"]);
const COUNTS = new Set(["tasks", "events", "chunks"]);

/** Takes the lines of an export in their order. It never throws. */
export class Verifier {
  #file: FileContext = {
    version: 0,
    keyed: false,
    checkList: (list) => checkList(list, (id) => this.#chunks.get(hex(id))),
    hasChunk: (id) => this.#chunks.has(hex(id)),
  };
  #digest = new Digest();
  #lines = 0;
  #ended = false;
  #task: TaskCheck | null = null;
  #tasks = 0;
  #tasksStated: number | bigint = 0;
  /** The length of each chunk, by id. */
  #chunks = new Map<string, number>();
  #chunkLines = 0;
  #counts = { whole: 0, withheld: 0, trusted: 0 };
  #place: { log?: string; at?: string } = {};
  #sameDigest = false;
  #faults: Fault[] = [];
  #faultCount = 0;
  #verdict: Verdict | null = null;
  /** The number of events so far. */
  events = 0;

  /** The number of bytes so far. */
  get bytes(): number {
    return this.#digest.bytes;
  }

  /** Takes a line without its line end. */
  line(text: string): void {
    this.#lines++;
    this.#place = {};
    try {
      this.#take(text);
    } catch (error) {
      this.#fault(whatOf(error), this.#lines, this.#place.log, this.#place.at);
    }
    if (!this.#ended) this.#digest.line(text);
  }

  /** Returns the verdict after the last line. */
  end(): Verdict {
    if (this.#verdict) return this.#verdict;
    if (!this.#ended) {
      this.#endTask();
      this.#fault("the file has no end: it was cut", Math.max(this.#lines, 1));
    }
    const heads = this.#task?.heads ?? [];
    const active = String(this.#task?.active ?? "");
    this.#verdict = {
      events: this.events,
      ...this.#counts,
      task: this.#task?.named ?? [],
      heads,
      head: heads.find(({ log }) => log === active)?.hash ?? "",
      keyed: this.#file.keyed,
      digest: this.#sameDigest,
      faults: this.#faults,
      faultsMore: this.#faultCount - this.#faults.length,
    };
    return this.#verdict;
  }

  /** Returns the chain hash of a lineage before an event; an empty text if there are faults. */
  hashAt(lineage: number, offset: number): string {
    const found = this.#faultCount === 0 && this.#task?.hashAt(lineage, offset);
    return found ? hex(found) : "";
  }

  #take(text: string): void {
    if (this.#ended) invalid("it comes behind the end");
    const first = text.startsWith('{"') ? text.slice(2, Math.max(text.indexOf('"', 2), 2)) : "";
    if (this.#lines === 1 && first !== "milepost_export") {
      this.#file.version = 2;
      invalid("an export begins with what is in it");
    }
    switch (first) {
      case "milepost_export":
        return this.#header(Line.of(text));
      case "task":
        return this.#begin(Line.of(text));
      case "chunk":
        return this.#chunk(Line.of(text));
      case "log":
        this.events++;
        return this.#event(Line.of(text, "body"));
      case "end":
        return this.#end(Line.of(text));
    }
    invalid(first ? `no line begins with \`${brief(first)}\`` : "it is no line of an export");
  }

  #header(line: Line): void {
    if (this.#lines > 1) invalid("a second header");
    this.#file.version = 2;
    const version = line.number("milepost_export", 0xffff_ffff);
    if (version !== 1 && version !== 2) invalid(`a version ${version} that is unknown`);
    this.#file.version = version;
    this.#file.keyed = line.string("key") !== undefined;
    line.only(HEADER);
    this.#tasksStated = line.big("tasks");
    for (const name of ["files", "redacted"]) {
      if (!line.has(name)) invalid(`\`${name}\` is missing`);
      line.flag(name);
    }
  }

  #begin(line: Line): void {
    this.#tasks++;
    // The events of the first one would be shown, and the head of the last one be compared.
    if (this.#tasks > 1) invalid("a second task: a share has one");
    this.#endTask();
    this.#task = null;
    this.#task = new TaskCheck(line, this.#lines, this.#file, this.#counts);
  }

  #endTask(): void {
    try {
      this.#task?.end((what, line, log) => this.#fault(what, line, log));
    } catch (error) {
      this.#fault(whatOf(error), this.#lines);
    }
  }

  #chunk(line: Line): void {
    this.#chunkLines++;
    line.only(CHUNK);
    line.flag("pieces");
    const stated = line.needId("chunk", 32);
    const content = line.base64("base64");
    if (content.length > CHUNK_MAX) invalid(`a chunk of ${content.length} bytes`);
    const id = hex(blake3(content));
    if (id !== hex(stated)) invalid(`the chunk has the id ${id}`);
    this.#chunks.set(id, content.length);
  }

  #event(line: Line): void {
    const log = line.need("log");
    const at = line.offset("at");
    this.#place = { log: brief(log), at: String(at) };
    if (!this.#task) invalid("an event before any task");
    this.#task.event(line, this.#lines, log, at);
  }

  #end(line: Line): void {
    line.only(END);
    const stated = line.needId("digest", 32);
    const counts = line.object("end");
    counts.only(COUNTS);
    const [tasks, events, chunks] = [
      counts.big("tasks"),
      counts.big("events"),
      counts.big("chunks"),
    ];
    this.#ended = true;
    this.#endTask();
    this.#sameDigest = same(this.#digest.end(), stated);
    if (!this.#sameDigest) {
      this.#fault("its digest is not that of the lines before it", this.#lines);
    }
    if (tasks !== this.#tasks || events !== this.events || chunks !== this.#chunkLines) {
      invalid("it counts other lines than there are");
    }
    if (this.#tasksStated !== this.#tasks) invalid("the first line counts other tasks");
  }

  #fault(what: string, line: number, log?: string, at?: string): void {
    this.#faultCount++;
    if (this.#faults.length >= FAULTS_MAX) return;
    const place = { ...(log !== undefined && { log }), ...(at !== undefined && { at }) };
    this.#faults.push({ line, ...place, what });
  }
}

function whatOf(error: unknown): string {
  if (error instanceof Invalid) return error.message;
  return `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}
