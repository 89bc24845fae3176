// Contents of a share: what the file says of itself, and which piece has what.

import type { Big } from "../api/types.ts";

export interface ExportPiece {
  bytes: number;
  lines: number;
  /** For each log with an event in the piece, the offset of the first. */
  logs: Record<string, Big>;
}

export interface Contents {
  version: string;
  task: string;
  user: string;
  active: number;
  keyed: boolean;
  redacted: boolean;
  events: Big;
  withheld: Big;
  trusted: Big;
  /** Number of the piece of the index that has a document. */
  index: ReadonlyMap<string, number>;
  pieces: readonly ExportPiece[];
}

interface Written extends Omit<Contents, "index" | "pieces"> {
  share: number;
  index: Record<string, number>;
  export: { pieces: ExportPiece[] };
}

/** Reads the contents of a share of version 1; null for everything else. */
export function readContents(text: string | null): Contents | null {
  try {
    const { share, index, export: all, ...rest } = JSON.parse(text ?? "") as Written;
    if (share !== 1 || typeof rest.task !== "string") return null;
    const documents = new Map(Object.entries(index));
    return { ...rest, index: documents, pieces: all.pieces };
  } catch {
    return null;
  }
}
