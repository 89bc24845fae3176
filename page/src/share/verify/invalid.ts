// The error of a text or of bytes that are not what they should be.

/** Says what is wrong. Everything else that is thrown is a mistake of the program. */
export class Invalid extends Error {
  override name = "Invalid";
}

/** Throws an `Invalid`. */
export function invalid(what: string): never {
  throw new Invalid(what);
}

/** Shortens a text of the file for a message. */
export function brief(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}
