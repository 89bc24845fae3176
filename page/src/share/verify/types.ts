// Types of fields in the stored format, as docs/FORMAT.md has them.

export type Type =
  | { is: "string" | "bool" | "f64" | "json" | "data" }
  | { is: "integer"; bits: 32 | 64; signed: boolean }
  | { is: "id"; bytes: 16 | 32 }
  | { is: "names"; names: readonly string[] }
  | { is: "option" | "list" | "map"; of: Type }
  | { is: "structure"; fields: Fields };

/** Fields by name, in stored order. */
export type Fields = ReadonlyMap<string, FieldType>;

export interface FieldType {
  type: Type;
  /** The byte of an absent field. */
  absent?: number;
}

export const STRING: Type = { is: "string" };
export const BOOL: Type = { is: "bool" };
export const F64: Type = { is: "f64" };
export const JSON_VALUE: Type = { is: "json" };
export const DATA: Type = { is: "data" };
export const U32: Type = { is: "integer", bits: 32, signed: false };
export const U64: Type = { is: "integer", bits: 64, signed: false };
export const I64: Type = { is: "integer", bits: 64, signed: true };
export const ID16: Type = { is: "id", bytes: 16 };
export const ID32: Type = { is: "id", bytes: 32 };

export const list = (of: Type): Type => ({ is: "list", of });
export const map = (of: Type): Type => ({ is: "map", of });
export const names = (...all: string[]): Type => ({ is: "names", names: all });

/** An optional field. */
export const option = (of: Type): FieldType => ({ type: { is: "option", of }, absent: 0 });

/** A field that is this byte if it is absent. */
export const or = (type: Type, absent: number): FieldType => ({ type, absent });

export function fields(of: Record<string, Type | FieldType>): Fields {
  const entries = Object.entries(of);
  return new Map(entries.map(([name, it]) => [name, "type" in it ? it : { type: it }]));
}

export const structure = (of: Record<string, Type | FieldType>): Type => ({
  is: "structure",
  fields: fields(of),
});
