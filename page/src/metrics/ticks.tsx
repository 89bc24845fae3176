// Marks and guidance of the chosen history, as ticks on the x axis of its charts.

import { useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import type { Axis } from "../address.ts";
import { parsePoint } from "../address.ts";
import { at as resolve, rows } from "../api/calls.ts";
import type { Row } from "../api/types.ts";
import { count } from "../format.ts";
import { Waiting } from "../parts/ui.tsx";
import { kindWord } from "../task/StepsList.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import type { Line } from "./lines.ts";

export interface Drawing {
  /** Draws the ticks into a chart of the line. */
  draw: (plot: uPlot, line: Line, colours: { mark: string; guidance: string }) => void;
  /** Returns the event of the tick at a place of the chart. */
  at: (plot: uPlot, line: Line, left: number, top: number) => Row | null;
}

export interface Ticks {
  drawn: Drawing;
  /** The same as a list, for those who do not use the chart. */
  list: preact.ComponentChildren;
}

const KINDS = "checkpoint_marked,guidance_given";
/** Ticks of a history, and requests for them: each may end before it finds one. */
const MOST = 500;
const REQUESTS = 40;
/** Number of ticks from which on they are thinned out. */
const CROWD = 60;
/** Half the width of a tick, and the distance at which a click meets it, in pixels. */
const SIZE = 4;
const NEAR = 6;

interface Found {
  rows: Row[];
  /** Offset before which all are there, if there may be further ones. */
  until: number | null;
}

async function find(address: string, signal: AbortSignal): Promise<Found> {
  const isExact = parsePoint(address).selector === null;
  const point = isExact ? address : (await resolve(address, signal)).address;
  const { task, lineage, offset } = parsePoint(point);
  const asked = {
    kind: KINDS,
    ...(lineage === null ? {} : { lineage }),
    ...(offset === null ? {} : { to: offset }),
  };
  const found: Row[] = [];
  let from = 0;
  for (let i = 0; i < REQUESTS; i++) {
    const page = await rows(task, { ...asked, from, limit: MOST - found.length }, signal);
    found.push(...page.items);
    if (page.next == null) return { rows: found, until: null };
    from = page.next;
    if (found.length >= MOST) break;
  }
  return { rows: found, until: from };
}

/** Place of an event on the axis: among steps, that of the value before it. */
export function placeOf(row: Row, line: Line, axis: Axis): number | null {
  if (axis === "time") return row.time_us;
  const { offset } = row;
  if (axis === "offset") return offset;
  const place = line.places.findLast((one) => one.at <= offset) ?? line.places[0];
  return place?.x ?? null;
}

function TickList(props: { found: Found; address: string; onOpen: (row: Row) => void }) {
  const w = words.value;
  const { rows: all, until } = props.found;
  const [open, setOpen] = useState(false);
  const guidance = all.filter((one) => one.kind === "guidance_given").length;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {w.ticksOf(count(all.length - guidance), count(guidance))} <Text text={props.address} />
        {until !== null && <span class="warn"> {w.ticksUntil(count(until))}</span>}
      </summary>
      {open && (
        <ul class="bare">
          {all.map((row) => (
            <li>
              <button type="button" class="link" onClick={() => props.onOpen(row)}>
                <span class="m">@{row.offset}</span> {kindWord(row)}{" "}
                <Text text={row.mark?.label ?? row.text} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function drawing(all: readonly Row[], axis: Axis): Drawing {
  return {
    draw: (plot, line, colours) => {
      const { ctx, bbox } = plot;
      const size = SIZE * devicePixelRatio;
      const bottom = bbox.top + bbox.height;
      ctx.save();
      const taken = new Set<number>();
      for (const row of all) {
        const x = placeOf(row, line, axis);
        const at = x === null ? -1 : plot.valToPos(x, "x", true);
        if (at < bbox.left || at > bbox.left + bbox.width) continue;
        const isMark = row.kind === "checkpoint_marked";
        // Of many, one for each of these places: more would be a bar.
        const place = Math.round(at / (2 * size)) * 2 + Number(isMark);
        if (all.length > CROWD && taken.has(place)) continue;
        taken.add(place);
        ctx.fillStyle = isMark ? colours.mark : colours.guidance;
        ctx.beginPath();
        if (isMark) ctx.rect(at - size / 4, bottom - 2 * size, size / 2, 2 * size);
        else {
          ctx.moveTo(at - size, bottom - 3 * size);
          ctx.lineTo(at + size, bottom - 3 * size);
          ctx.lineTo(at, bottom);
        }
        ctx.fill();
      }
      ctx.restore();
    },
    at: (plot, line, left, top) => {
      if (top < plot.over.clientHeight - 3 * SIZE) return null;
      let best: Row | null = null;
      let distance = NEAR;
      for (const row of all) {
        const x = placeOf(row, line, axis);
        const away = x === null ? NEAR + 1 : Math.abs(plot.valToPos(x, "x") - left);
        // Of a mark and guidance at one place, guidance is drawn above.
        if (away > distance || (away === distance && best?.kind === "guidance_given")) continue;
        [best, distance] = [row, away];
      }
      return best;
    },
  };
}

export function useTicks(
  address: string | undefined,
  axis: Axis,
  onOpen: (address: string, offset: number) => void,
): Ticks | null {
  const asked = useAsk(address ? `ticks ${address}` : null, (signal) => find(address!, signal));
  const found = asked.value;
  const drawn = useMemo(() => drawing(found?.rows ?? [], axis), [found, axis]);
  if (!address) return null;
  const open = (row: Row) => onOpen(address, row.offset);
  const list = found ? (
    <TickList key={address} found={found} address={address} onOpen={open} />
  ) : (
    <Waiting of={asked} what={words.value.events} />
  );
  return { drawn, list };
}
