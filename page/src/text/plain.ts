// Text of a log where no element can be, such as the name of a window.

import { nameOf, visible } from "./visible.ts";

/** Text with names in place of its control characters. */
export function plain(text: string): string {
  const pieces = visible(text).map((piece) => {
    return piece.kind === "text" ? piece.text : `[${nameOf(piece.code)}]`;
  });
  return pieces.join("");
}
