// Follows the active lineage of a task: its head, and moves to another lineage.

import { useEffect, useRef, useState } from "preact/hooks";
import { followWhileVisible } from "../api/stream.ts";
import type { Message } from "../api/stream.ts";
import type { LineageModel } from "./model.ts";

export interface Move {
  from: number;
  to: number;
  at: number;
}

export interface Live {
  /** Whether the stream is there, so that new events come at once. */
  on: boolean;
  /** Head that the stream told of; 0 before it told of one. */
  told: number;
  move: Move | null;
  dismiss: () => void;
}

/** Follows the stream from the head that is known; takes events in at most once a frame. */
export function useLive(model: LineageModel, active: boolean, onMoved: () => void): Live {
  const [on, setOn] = useState(false);
  const [told, setTold] = useState(0);
  const [move, setMove] = useState<Move | null>(null);
  const moved = useRef(onMoved);
  moved.current = onMoved;
  useEffect(() => {
    if (!active) return;
    let head = model.head.peek();
    let frame = 0;
    const apply = () => {
      frame = 0;
      setTold(head);
      void model.grow(head);
    };
    const onMessage = (message: Message) => {
      if (message.event === "lineage") {
        const change = JSON.parse(message.data) as Move;
        setMove(change);
        moved.current();
        return;
      }
      if (message.event === "problem") return;
      if (message.event === "control_changed") moved.current();
      const [lineage, next] = message.id.split(":").map(Number);
      if (lineage !== model.lineage || next === undefined) return;
      head = Math.max(head, next);
      if (!frame && document.visibilityState === "visible") frame = requestAnimationFrame(apply);
      else if (!frame) frame = Number(setTimeout(apply, 1000));
    };
    const path = `/v1/tasks/${encodeURIComponent(model.task)}/events?from=${head}`;
    const stop = followWhileVisible({
      path,
      lastId: `${model.lineage}:${head}`,
      onMessage,
      onOpen: () => setOn(true),
      onRefused: () => setOn(false),
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
      setOn(false);
    };
  }, [model, active]);
  return { on, told, move, dismiss: () => setMove(null) };
}
