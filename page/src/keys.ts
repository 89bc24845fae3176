// The table of keys. docs/PAGE.md has the same rows; a test compares them.

import type { Word } from "./words/index.ts";

export type Act =
  | "down"
  | "up"
  | "nextTurn"
  | "previousTurn"
  | "first"
  | "last"
  | "open"
  | "leave"
  | "previousLineage"
  | "nextLineage"
  | "previousPane"
  | "nextPane"
  | "tab1"
  | "tab2"
  | "tab3"
  | "tab4"
  | "tab5"
  | "view"
  | "find"
  | "nextHit"
  | "previousHit"
  | "nextFailure"
  | "previousFailure"
  | "nextMark"
  | "previousMark"
  | "checkpoints"
  | "goTo"
  | "firstWhere"
  | "blame"
  | "fork"
  | "rollBack"
  | "undo"
  | "pause"
  | "guide"
  | "mark"
  | "pin"
  | "choose"
  | "compare"
  | "share"
  | "copyAddress"
  | "copyLink"
  | "actions"
  | "keys";

export interface KeyRow {
  /** Keys as `KeyboardEvent.key` has them. */
  keys: readonly string[];
  /** What each key does; the last one repeats. */
  acts: readonly Act[];
  word: Word;
  group: "move" | "find" | "act";
}

type Row = [group: KeyRow["group"], keys: string, acts: string, word: Word];

const ROWS: readonly Row[] = [
  ["move", "j k", "down up", "keyRow"],
  ["move", "J K", "nextTurn previousTurn", "keyTurn"],
  ["move", "g G", "first last", "keyEnds"],
  ["move", "Enter ArrowRight", "open", "keyOpen"],
  ["move", "ArrowLeft Escape", "leave", "keyLeave"],
  ["move", "[ ]", "previousLineage nextLineage", "keyLineage"],
  ["move", "h l", "previousPane nextPane", "keyPane"],
  ["move", "1 2 3 4 5", "tab1 tab2 tab3 tab4 tab5", "keyTab"],
  ["move", "v", "view", "keyView"],
  ["find", "/", "find", "keyFind"],
  ["find", "n N", "nextHit previousHit", "keyHit"],
  ["find", "e E", "nextFailure previousFailure", "keyFailure"],
  ["find", "m M", "nextMark previousMark", "keyMarks"],
  ["find", "C", "checkpoints", "keyCheckpoints"],
  ["find", ":", "goTo", "keyGoTo"],
  ["find", "b", "firstWhere", "keyFirstWhere"],
  ["find", "B", "blame", "keyBlame"],
  ["act", "f", "fork", "keyFork"],
  ["act", "r", "rollBack", "keyRollBack"],
  ["act", "u", "undo", "keyUndo"],
  ["act", "p", "pause", "keyPause"],
  ["act", "i", "guide", "keyGuide"],
  ["act", "a", "mark", "keyMark"],
  ["act", "P", "pin", "keyPin"],
  ["act", "x", "choose", "keyChoose"],
  ["act", "c", "compare", "keyCompare"],
  ["act", "S", "share", "keyShare"],
  ["act", "y Y", "copyAddress copyLink", "keyCopy"],
  ["act", ".", "actions", "keyActions"],
  ["act", "?", "keys", "keyKeys"],
];

export const KEYS: readonly KeyRow[] = ROWS.map(([group, keys, acts, word]) => ({
  group,
  word,
  keys: keys.split(" "),
  acts: acts.split(" ") as Act[],
}));

/** Keys that do the same everywhere and are in no row: arrows and pages move as rows do. */
const ALSO: Record<string, Act> = { ArrowDown: "down", ArrowUp: "up", Home: "first", End: "last" };

const BY_KEY = new Map<string, Act>(Object.entries(ALSO));
for (const row of KEYS) {
  row.keys.forEach((key, i) => BY_KEY.set(key, row.acts[Math.min(i, row.acts.length - 1)]!));
}

export function actOf(key: string): Act | undefined {
  return BY_KEY.get(key);
}

/** Returns the key of an action, as it is shown. */
export function keyOf(act: Act): string {
  for (const row of KEYS) {
    const i = row.acts.indexOf(act);
    if (i >= 0) return shown(row.keys[i] ?? "");
  }
  return "";
}

const NAMES: Record<string, string> = { ArrowRight: "→", ArrowLeft: "←", Escape: "Esc" };

export function shown(key: string): string {
  return NAMES[key] ?? key;
}
