// Windowed list: only rows in view are in the document. The scroll bar is scaled for long lists;
// wheel, touch and keys move by true pixels.

import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren, Ref } from "preact";
import { clampTop, scaleOf, topFor, windowOf } from "./geometry.ts";
import type { Layout } from "./geometry.ts";

export interface ListHandle {
  /** Brings a row into view; `centre` puts it in the middle if it is not. */
  show: (flat: number, centre?: boolean) => void;
  toEnd: () => void;
  atEnd: () => boolean;
  focus: () => void;
}

export interface ListProps {
  id: string;
  label: string;
  layout: Layout;
  cursor: number;
  draw: (flat: number) => ComponentChildren;
  /** Attributes of a row beyond those of the list. */
  rowProps?: (flat: number) => Record<string, string | number | boolean | undefined>;
  onCursor: (flat: number) => void;
  onOpen?: (flat: number) => void;
  onWindow?: (first: number, end: number) => void;
  role?: "listbox" | "grid" | "tree";
  /** Name under which the place is kept while other screens are shown. */
  memory?: string;
  class?: string;
  handle?: Ref<ListHandle>;
}

const ROW_ROLES = { listbox: "option", grid: "row", tree: "treeitem" } as const;
const places = new Map<string, number>();

/** Keeps the place of scrolling in true pixels, beside the element's own. */
function useScroll(layout: Layout, memory: string | undefined) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState(600);
  const [top, setTop] = useState(() => (memory && places.get(memory)) || 0);
  const now = useRef({ top, view, layout, ours: -1 });
  now.current.layout = layout;
  now.current.view = view;

  const moveTo = (to: number) => {
    const { layout: list, view: height } = now.current;
    const next = clampTop(to, list.total, height);
    now.current.top = next;
    if (memory) places.set(memory, next);
    const element = box.current;
    if (element) {
      const scaled = Math.round(next / scaleOf(list.total, height).ratio);
      if (Math.abs(element.scrollTop - scaled) >= 1) {
        element.scrollTop = scaled;
        now.current.ours = element.scrollTop;
      }
    }
    setTop(next);
  };

  const onScroll = () => {
    // The last event of a list may come after it is gone.
    const at = box.current?.scrollTop;
    if (at === undefined) return;
    if (Math.abs(at - now.current.ours) < 1) {
      now.current.ours = -1;
      return;
    }
    const { ratio } = scaleOf(now.current.layout.total, now.current.view);
    if (ratio !== 1 && Math.abs(at - now.current.top / ratio) < 1) return;
    now.current.top = clampTop(at * ratio, now.current.layout.total, now.current.view);
    if (memory) places.set(memory, now.current.top);
    setTop(now.current.top);
  };

  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => setView(element.clientHeight || 600);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  useLayoutEffect(() => {
    const next = clampTop(now.current.top, layout.total, view);
    const place = now.current.top / scaleOf(layout.total, view).ratio;
    const at = box.current?.scrollTop ?? place;
    if (next !== now.current.top || Math.abs(at - place) >= 1) moveTo(next);
  }, [layout.total, view]);

  useEffect(() => {
    const element = box.current!;
    let finger: number | null = null;
    const isScaled = () => scaleOf(now.current.layout.total, now.current.view).ratio !== 1;
    const onWheel = (event: WheelEvent) => {
      if (!isScaled() || event.ctrlKey) return;
      event.preventDefault();
      const unit = [1, 28, now.current.view][event.deltaMode] ?? 1;
      moveTo(now.current.top + event.deltaY * unit);
    };
    const onStart = (event: TouchEvent) => (finger = event.touches[0]?.clientY ?? null);
    const onMove = (event: TouchEvent) => {
      const y = event.touches[0]?.clientY;
      if (!isScaled() || finger === null || y === undefined || event.touches.length > 1) return;
      event.preventDefault();
      moveTo(now.current.top + finger - y);
      finger = y;
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("touchstart", onStart, { passive: true });
    element.addEventListener("touchmove", onMove, { passive: false });
    return () => {
      element.removeEventListener("wheel", onWheel);
      element.removeEventListener("touchstart", onStart);
      element.removeEventListener("touchmove", onMove);
    };
  }, []);

  return { box, view, top, moveTo, onScroll, now };
}

export function List(props: ListProps) {
  const { layout, cursor, role = "listbox" } = props;
  const { box, view, top, moveTo, onScroll, now } = useScroll(layout, props.memory);
  const { first, end } = windowOf(layout, top, view);
  const { onWindow } = props;
  useEffect(() => onWindow?.(first, end), [first, end, layout, onWindow]);

  const show = (flat: number, centre = false) => {
    const at = now.current;
    const next = topFor(at.layout, flat, at.top, at.view);
    if (next === at.top) return;
    const far = centre && Math.abs(next - at.top) > at.view;
    moveTo(far ? at.layout.top(flat) - at.view / 3 : next);
  };
  useImperativeHandle(props.handle ?? null, () => ({
    show,
    toEnd: () => moveTo(now.current.layout.total),
    atEnd: () => now.current.top + now.current.view >= now.current.layout.total - 4,
    focus: () => box.current?.focus({ preventScroll: true }),
  }));

  const onKeyDown = (event: KeyboardEvent) => {
    const pages = { PageDown: 1, PageUp: -1 }[event.key];
    if (pages === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const step = Math.max(1, Math.floor(view / layout.height) - 1);
    const to = Math.max(0, Math.min(layout.rows - 1, cursor + pages * step));
    props.onCursor(to);
    show(to);
  };

  const rows = [];
  for (let flat = first; flat < end; flat++) {
    const extra = props.rowProps?.(flat) ?? {};
    const chosen = flat === cursor;
    rows.push(
      <div
        key={flat}
        id={`${props.id}-${flat}`}
        role={ROW_ROLES[role]}
        aria-selected={chosen}
        {...(role === "grid"
          ? { "aria-rowindex": flat + 2 }
          : { "aria-setsize": layout.rows, "aria-posinset": flat + 1 })}
        {...extra}
        class={`row ${extra.class ?? ""}`}
        style={{ top: `${layout.top(flat) - top}px`, height: `${layout.heightOf(flat)}px` }}
        onClick={() => props.onCursor(flat)}
        onDblClick={() => props.onOpen?.(flat)}
      >
        {props.draw(flat)}
      </div>,
    );
  }
  const inView = cursor >= first && cursor < end;
  return (
    <div
      class={`list ${props.class ?? ""}`}
      id={props.id}
      ref={box}
      role={role}
      tabIndex={0}
      aria-label={props.label}
      aria-activedescendant={inView ? `${props.id}-${cursor}` : undefined}
      aria-rowcount={role === "grid" ? layout.rows + 1 : undefined}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div class="list-window" role={role === "grid" ? "rowgroup" : "presentation"}>
        {rows}
      </div>
      <div
        class="list-space"
        role="presentation"
        style={{ height: `${scaleOf(layout.total, view).space}px` }}
      />
    </div>
  );
}
