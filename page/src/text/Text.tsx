// Components that show texts of a log.

import { fences, nameOf, visible } from "./visible.ts";
import type { Style } from "./visible.ts";

function classOf(style: Style): string {
  const names: string[] = [];
  if (style.colour !== undefined) names.push(`ansi-${style.colour}`);
  if (style.background !== undefined) names.push(`ansi-b${style.background}`);
  if (style.bold) names.push("ansi-bold");
  if (style.dim) names.push("ansi-dim");
  if (style.italic) names.push("ansi-italic");
  if (style.underline) names.push("ansi-underline");
  return names.join(" ");
}

/** Text with its control characters visible, isolated from the direction of what is around it. */
export function Text({ text }: { text: string }) {
  const pieces = visible(text);
  if (pieces.length === 1 && pieces[0]!.kind === "text" && !pieces[0]!.style) {
    return <bdi>{pieces[0]!.text}</bdi>;
  }
  return (
    <bdi>
      {pieces.map((piece) => {
        if (piece.kind === "text") {
          return piece.style ? <span class={classOf(piece.style)}>{piece.text}</span> : piece.text;
        }
        return <span class={piece.kind}>{nameOf(piece.code)}</span>;
      })}
    </bdi>
  );
}

/** Message with its code fences in boxes. */
export function Prose({ text }: { text: string }) {
  const blocks = fences(text);
  if (blocks.length === 1 && blocks[0]!.kind === "prose") return <Text text={text} />;
  return (
    <>
      {blocks.map((block) =>
        block.kind === "prose" ? (
          <Text text={block.text} />
        ) : (
          <pre tabIndex={0} aria-label={block.label || undefined} role="group">
            <Text text={block.text} />
          </pre>
        ),
      )}
    </>
  );
}
