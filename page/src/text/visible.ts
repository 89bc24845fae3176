// Text of a log made safe to read: control and bidi characters become visible, colours of
// terminals become spans. Nothing here makes HTML.

export type Piece =
  | { kind: "text"; text: string; style?: Style }
  | { kind: "control"; code: number }
  | { kind: "bidi"; code: number };

export interface Style {
  colour?: number;
  background?: number;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
}

/** Bidi controls, and other characters without width that change how text looks. */
const BIDI = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;

/** Those, and control characters other than tab and line feed. */
export const SPECIAL = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]|${BIDI.source}`);

const SEQUENCE = /^\u001b\[([0-9;]{0,64})([@-~])/;

function add(pieces: Piece[], piece: Piece): void {
  const last = pieces[pieces.length - 1];
  if (piece.kind === "text" && last?.kind === "text" && last.style === piece.style) {
    last.text += piece.text;
  } else pieces.push(piece);
}

/** Applies the parameters of a colour sequence (SGR) to a style. */
export function applySgr(parameters: string, style: Style): Style {
  const codes = parameters.split(";").map((text) => (text === "" ? 0 : Number(text)));
  let now: Style = { ...style };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (code === 0) now = {};
    else if (code === 1) now.bold = true;
    else if (code === 2) now.dim = true;
    else if (code === 3) now.italic = true;
    else if (code === 4) now.underline = true;
    else if (code === 22) {
      delete now.bold;
      delete now.dim;
    } else if (code === 23) delete now.italic;
    else if (code === 24) delete now.underline;
    else if (code === 39) delete now.colour;
    else if (code === 49) delete now.background;
    else if (code >= 30 && code <= 37) now.colour = code - 30;
    else if (code >= 90 && code <= 97) now.colour = code - 90 + 8;
    else if (code >= 40 && code <= 47) now.background = code - 40;
    else if (code >= 100 && code <= 107) now.background = code - 100 + 8;
    else if (code === 38 || code === 48) {
      const indexed = codes[i + 1] === 5;
      const index = codes[i + 2] ?? 0;
      if (indexed && index < 16) now[code === 38 ? "colour" : "background"] = index;
      i += indexed ? 2 : codes[i + 1] === 2 ? 4 : 0;
    }
  }
  return now;
}

/** Divides a text into pieces that can be shown. */
export function visible(text: string): Piece[] {
  if (!SPECIAL.test(text)) return text === "" ? [] : [{ kind: "text", text }];
  const pieces: Piece[] = [];
  let style: Style | undefined;
  let plain = 0;
  const flush = (end: number) => {
    if (end > plain) {
      const piece: Piece = { kind: "text", text: text.slice(plain, end) };
      if (style) piece.style = style;
      add(pieces, piece);
    }
  };
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (!SPECIAL.test(character)) continue;
    if (character === "\r" && text[i + 1] === "\n") {
      flush(i);
      plain = i + 1;
      continue;
    }
    flush(i);
    const sequence = character === "\u001b" ? SEQUENCE.exec(text.slice(i, i + 70)) : null;
    if (sequence?.[2] === "m") {
      const next = applySgr(sequence[1]!, style ?? {});
      style = Object.keys(next).length === 0 ? undefined : next;
      i += sequence[0].length - 1;
    } else {
      const code = text.charCodeAt(i);
      add(pieces, { kind: BIDI.test(character) ? "bidi" : "control", code });
    }
    plain = i + 1;
  }
  flush(text.length);
  return pieces;
}

/** Returns the visible form of a control or bidi character: `␛`, or `U+202E`. */
export function nameOf(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "␡";
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

export interface Block {
  kind: "prose" | "code";
  text: string;
  label?: string;
}

/** Divides a message at its code fences. */
export function fences(text: string): Block[] {
  if (!text.includes("```")) return [{ kind: "prose", text }];
  const blocks: Block[] = [];
  let lines: string[] = [];
  let open: string | null = null;
  const close = (kind: Block["kind"]) => {
    if (lines.length > 0) {
      const block: Block = { kind, text: lines.join("\n") };
      if (kind === "code" && open) block.label = open;
      blocks.push(block);
    }
    lines = [];
  };
  for (const line of text.split("\n")) {
    const fence = /^\s*```(.*)$/.exec(line);
    if (fence && open === null) {
      close("prose");
      open = fence[1]!.trim();
    } else if (fence && fence[1]!.trim() === "") {
      close("code");
      open = null;
    } else lines.push(line);
  }
  close(open === null ? "prose" : "code");
  return blocks;
}
