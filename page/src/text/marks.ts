// Names that are shown without `Text`: no control character of a log reaches the screen as it is.

import { options } from "preact";
import { nameOf, SPECIAL } from "./visible.ts";

const EACH = new RegExp(SPECIAL.source, "g");
const SHOWN = ["title", "aria-label", "aria-description", "alt", "label", "placeholder"];

/** Returns a text with names in place of control and bidi characters. */
export function marked(text: string): string {
  return SPECIAL.test(text) ? text.replace(EACH, (one) => nameOf(one.charCodeAt(0))) : text;
}

/** Marks each text and each name that is drawn. What `Text` made visible has none. */
export function markTexts(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    const drawn: { type: unknown; props: unknown } = vnode;
    if (drawn.type === null && typeof drawn.props === "string") drawn.props = marked(drawn.props);
    else if (typeof drawn.type === "string") {
      const props = drawn.props as Record<string, unknown>;
      for (const name of SHOWN) {
        const text = props[name];
        if (typeof text === "string") props[name] = marked(text);
      }
    }
    before?.(vnode);
  };
}
