// The built viewer, and a share with it in place of the one that the command had when it was built.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

export interface Viewer {
  script: string;
  style: string;
}

export async function viewer(): Promise<Viewer> {
  const read = (name: string) => readFile(`built/${name}`, "utf8");
  return { script: await read("share.js"), style: await read("page.css") };
}

export const sha256 = (text: string) =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Replaces what is between two texts. */
function between(text: string, start: string, end: string, by: string): string {
  const from = text.indexOf(start) + start.length;
  return text.slice(0, from) + by + text.slice(text.lastIndexOf(end));
}

export function withViewer(html: string, { script, style }: Viewer): string {
  const at = html.indexOf("</style>");
  const head = between(html.slice(0, at + 8), "<style>", "</style>", style)
    .replace(/script-src '[^']+'/, `script-src ${sha256(script)}`)
    .replace(/style-src '[^']+'/, `style-src ${sha256(style)}`);
  return head + between(html.slice(at + 8), '<script type="module">', "</script>", script);
}
