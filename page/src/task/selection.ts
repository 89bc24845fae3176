// What is chosen in the list of a task: a turn, or one event.

import { formatPoint } from "../address.ts";

export interface Selection {
  task: string;
  lineage: number;
  /** Offset that the address names. */
  offset: number;
  /** Events that the reading pane shows: from the first to before the next. */
  first: number;
  next: number;
  /** Number of the turn, or null for a single event. */
  turn: number | null;
}

/** Address of the chosen place. */
export function addressOf(of: Selection): string {
  return formatPoint(of.task, of.lineage, of.offset);
}

export function before(of: Selection): string {
  return formatPoint(of.task, of.lineage, of.first);
}

export function after(of: Selection): string {
  return formatPoint(of.task, of.lineage, of.next);
}
