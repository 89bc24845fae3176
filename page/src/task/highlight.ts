// Hits of a text in what is shown: painted over it, so that no element changes.

import { useEffect } from "preact/hooks";

const NAME = "found";
const MOST = 1_000;

function rangesOf(root: Node, text: string): Range[] {
  const found: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { data } = node as globalThis.Text;
    const lower = data.toLowerCase();
    // Some letters have another length in lower case: places would be wrong.
    const own = lower.length === data.length ? lower : data;
    for (let at = own.indexOf(text); at >= 0; at = own.indexOf(text, at + text.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + text.length);
      found.push(range);
      if (found.length === MOST) return found;
    }
  }
  return found;
}

/** Paints the hits of a text in the list and the document while they are shown. */
export function useHighlight(text: string): void {
  useEffect(() => {
    const root = document.querySelector("main");
    if (text === "" || !root || typeof Highlight === "undefined") return;
    let frame = 0;
    const paint = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesOf(root, text.toLowerCase())));
    };
    const watch = new MutationObserver(() => (frame ||= requestAnimationFrame(paint)));
    watch.observe(root, { childList: true, characterData: true, subtree: true });
    paint();
    return () => {
      watch.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(NAME);
    };
  }, [text]);
}
