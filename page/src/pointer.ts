// JSON pointers (RFC 6901).

import type { Json } from "./api/types.ts";

/** Appends a name to a JSON pointer. */
export function pointerTo(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Names of a pointer, from the outermost. */
export function namesOf(pointer: string): string[] {
  const parts = pointer.split("/").slice(1);
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Returns the value at a pointer, or undefined. */
export function valueAt(value: Json, pointer: string): Json | undefined {
  let now: Json | undefined = value;
  for (const name of namesOf(pointer)) {
    if (typeof now !== "object" || now === null || !Object.hasOwn(now, name)) return undefined;
    now = (now as { [name: string]: Json })[name];
  }
  return now;
}
