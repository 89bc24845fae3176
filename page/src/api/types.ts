// Answers of /v1 that the page reads: short names for the types that `clients/typescript/generate`
// makes of the service's description. The built page has nothing of them.

import type { components } from "../../../clients/typescript/src/schema.d.ts";

type Forms = components["schemas"];

/**
 * Number. The service writes one over 2^53 as a string of its digits: no offset or count is that
 * large, but the number of a step or a time may be, and what computes with them converts them.
 */
export type Big = number;
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Type `T` with JSON where the description leaves a value open, and a number for a `Big`. */
type Parsed<T> = unknown extends T
  ? Json
  : number extends T
    ? Exclude<T, string>
    : T extends object
      ? { [K in keyof T]: Parsed<T[K]> }
      : T;
type Of<Name extends keyof Forms> = Parsed<Forms[Name]>;

// The page relies on more than the description says, and a share answers with less. `With` replaces
// the types of fields. A field that `Lacks` names may be absent and is never null.
type With<T, Fields> = Omit<T, keyof Fields> & Fields;
type Lacks<T, Names extends keyof T> = Omit<T, Names> & { [K in Names]?: NonNullable<T[K]> };

export interface Page<T> {
  items: T[];
  next?: string | null;
}
export type Progress = Pick<Of<"OverviewForm">, "read" | "head">;

/** Number, or the name of one that JSON lacks: `NaN`, `inf`. */
export type Float = number | string;
/** Path of a folder or within one. It is in Base64 if it is not UTF-8. */
export type PathName = string | { base64: string };

export type Bucket = Lacks<Of<"OverviewBucketForm">, "time_us">;
export type CapturedFile = With<Of<"FileForm">, { path: PathName }>;
export type Checkpoint = Of<"CheckpointForm">;
export type Events = With<Of<"RangeForm">, { items: Event[] }>;
export type Diff = With<Of<"ChangesForm">, { items: Change[] }>;
export type Folder = With<Of<"FolderForm">, { folder: PathName }>;
export type Lineage = Of<"LineageForm">;
export type LineageSummary = With<Of<"LineageSummaryForm">, { outcome: Outcome }>;
export type Metric = Of<"MetricForm">;
export type Outcome = With<Of<"OutcomeForm">, { value?: Json }>;
export type Overview = With<Of<"OverviewForm">, { buckets: Bucket[] }>;
export type Point = Of<"PointForm">;
export type Row = Of<"RowForm">;
export type Rows = Of<"RowsForm">;
export type SearchHit = Of<"HitForm">;
export type Session = Of<"SessionForm">;
export type SharePlan = Of<"SharePlanForm">;
export type Summaries = With<Of<"SummariesForm">, { items: Summary[] }>;
export type Summary = With<Of<"SummaryForm">, { lineages: LineageSummary[] }>;
export type TurnCall = Lacks<Of<"TurnCallForm">, "result">;
export type Turns = With<Of<"TurnsForm">, { items: Turn[] }>;
export type Usage = Of<"UsageForm">;

type Range<Form, Names extends keyof Form> = With<Form, Record<Names, Float>>;
export type MetricCount = Range<Of<"MetricCountForm">, "last" | "min" | "max">;
export type SeriesBucket = Range<Of<"SeriesBucketForm">, "first" | "last" | "min" | "max">;
export interface Series {
  items: With<Of<"SeriesForm">, { buckets: SeriesBucket[] }>[];
}

export interface Change extends Of<"ChangeForm"> {
  kind: "add" | "remove" | "replace";
}

export type Turn = With<
  Lacks<Of<"TurnForm">, "failed" | "heard" | "took_us">,
  { calls: TurnCall[]; metrics?: Record<string, Float> }
>;

export type FileChange = Pick<Of<"FileChangeForm">, "change"> &
  Record<"before" | "after", CapturedFile | null>;

export type AlignItem = Pick<Of<"AlignedForm">, "op" | "other"> & Record<"a" | "b", Turn | null>;
export type Align = With<Of<"AlignmentForm">, { items: AlignItem[] }>;

/** Event, with its place if it was asked for by an address. */
export interface Event extends Of<"EventForm">, Partial<Pick<Of<"EventAt">, "task" | "hash">> {
  checkpoint?: string | null;
  body: { [name: string]: Json } | null;
  /** In a share: the body is not covered by the hash, or neither is the header (`trusted`). */
  withheld?: "body" | "trusted";
}
export type Bisected = With<Of<"BisectedForm">, { event: Event; changes: Diff }>;

/** A share does not know the `time_us` of a change. */
export type Blame = With<Of<"BlamedForm">, { changes: Lacks<Of<"BlameForm">, "time_us">[] }>;

export interface Me extends Of<"MeForm"> {
  /** Why it is read-only, if it is for another reason than the service or the token. */
  reason?: "share";
}

/** Long text of a body that the service cut. */
export interface Cut {
  cut: string;
  bytes: Big;
  pointer: string;
}

// The description has the files of a plan as any object.

export interface PlannedPath {
  path: PathName;
  bytes?: Big;
  text?: string;
}

export interface PathConflict {
  /** Null for the whole folder. */
  path: PathName | null;
  why: string;
  text: string;
  /** Choices that resolve it; undefined if only a change of the folder does. */
  ways?: ("theirs" | "keep_mine" | "moved")[];
}

type Listed = "creates" | "changes" | "deletes" | "modes" | "notes";
export interface FilesPlan extends Record<Listed, PlannedPath[]> {
  conflicts: PathConflict[];
  /** Paths that differ and stay; those that captures leave out and that changed since. */
  left?: PlannedPath[];
  left_out?: PlannedPath[];
  /** Folders that calls ran in, and that captures do not have. */
  not_covered?: PlannedPath[];
  /** One sentence about all of it. */
  summary?: string;
}
export type RestorePlan = With<Of<"RestorePlanForm">, { changes: Change[]; files?: FilesPlan }>;
