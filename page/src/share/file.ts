// The share as a file: pieces are unpacked when they are looked at, and few are held.

import { parse } from "../api/numbers.ts";
import { Problem } from "../api/problem.ts";
import { words } from "../words/index.ts";
import type { Contents } from "./contents.ts";
import { Lately } from "./lately.ts";
import { linesOf } from "./lines.ts";
import type { ExportText } from "./lines.ts";

/** Most characters of pieces of the index, and of the export, that are held unpacked. */
const INDEX_HELD = 4 << 20;
const EXPORT_HELD = 4 << 20;

/** Returns the text of a script element, or null. A browser gives it without a copy. */
export type ReadPart = (id: string) => string | null;

/** Returns the bytes of a text in base64; white space around it does not count. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpacked(base64: string): Promise<string> {
  const packed = new Blob([bytesOf(base64)]).stream();
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
}

type Documents = Record<string, unknown>;

export class ShareFile {
  readonly #index = new Lately<Documents>(INDEX_HELD, async (piece) => {
    const text = await this.#unpack(`index-${piece}`);
    return { value: parse(text) as Documents, weight: text.length };
  });
  readonly #export = new Lately<ExportText>(EXPORT_HELD, async (piece) => {
    const text = await this.exportText(piece);
    return { value: linesOf(text), weight: text.length };
  });
  /** For each log, the pieces with its events and the first offset in each, in order. */
  readonly #places = new Map<string, { piece: number; first: number }[]>();

  /** Returns the chain hash of a lineage before an event, once the file is verified. */
  hashAt: (lineage: number, offset: number) => Promise<string> = () => Promise.resolve("");

  constructor(
    readonly contents: Contents,
    readonly read: ReadPart,
  ) {
    contents.pieces.forEach(({ logs }, piece) => {
      for (const [log, first] of Object.entries(logs)) {
        const places = this.#places.get(log) ?? [];
        places.push({ piece, first });
        this.#places.set(log, places);
      }
    });
  }

  async #unpack(part: string): Promise<string> {
    try {
      const text = this.read(part);
      if (text === null) throw new Error(part);
      return await unpacked(text);
    } catch (error) {
      throw damaged(part, error);
    }
  }

  /** Returns a document of the index, or null if there is none of this name. */
  async document<T>(name: string): Promise<T | null> {
    const piece = this.contents.index.get(name);
    if (piece === undefined) return null;
    const documents = await this.#index.get(piece);
    if (!Object.hasOwn(documents, name)) throw damaged(name);
    return documents[name] as T;
  }

  has(name: string): boolean {
    return this.contents.index.has(name);
  }

  /** Returns the text of a piece of the export; nothing holds it. */
  exportText(piece: number): Promise<string> {
    return this.#unpack(`export-${piece}`);
  }

  /** Returns the line of an event, or null if the file does not have it. */
  async line(log: string, offset: number): Promise<string | null> {
    const places = this.#places.get(log) ?? [];
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle]!.first <= offset) low = middle + 1;
      else high = middle;
    }
    const place = places[low - 1];
    if (!place) return null;
    const { text, events } = await this.#export.get(place.piece);
    const found = events.get(`${log} ${offset}`);
    return found ? text.slice(found[0], found[1]) : null;
  }
}

/** Problem of a file that is not as it was written. */
export function damaged(part: string, cause?: unknown): Problem {
  console.warn(part, cause);
  const { shareDamaged, failedTitle } = words.value;
  return new Problem(422, { title: failedTitle, detail: shareDamaged(part) });
}
