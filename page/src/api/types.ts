// Forms of the answers of /v1 that the page reads. `Big` is a number that may exceed 2^53.

export type Big = string;
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Page<T> {
  items: T[];
  next?: string | null;
}

export interface Me {
  user: string;
  admin: boolean;
  read_only: boolean;
  /** Why it is read-only, if it is for another reason than the service or the token. */
  reason?: "share";
  store: { id: string; keyed: boolean };
  version: string;
  limits: { body: Big; rows: number; turns: number; summaries: number };
  task?: string;
  expires?: string;
}

export interface Session {
  session: string;
  expires: string;
  user: string;
  admin: boolean;
}

export interface Usage {
  input?: Big | null;
  output?: Big | null;
  cache_read?: Big | null;
  cache_write?: Big | null;
  cost?: number | null;
  currency?: string | null;
  model?: string | null;
}

export interface Outcome {
  status?: string | null;
  value?: Json;
  good?: boolean | null;
}

export interface Metric {
  last: number;
  min: number;
  max: number;
  count?: Big;
}

export interface LineageSummary {
  id: number;
  head: Big;
  parent?: number | null;
  fork?: Big | null;
  outcome: Outcome;
  steps: Big;
  calls: Big;
  failed: Big;
  usage?: Usage | null;
}

export interface Summary {
  id: string;
  user: string;
  title?: string | null;
  created: string;
  created_us: Big;
  changed: string;
  changed_us: Big;
  active: number;
  head: Big;
  events: Big;
  control: string;
  phase?: string | null;
  step?: Big | null;
  steps: Big;
  calls: Big;
  failed: Big;
  last_error?: string | null;
  metrics: Record<string, Metric>;
  usage?: Usage | null;
  lineages: LineageSummary[];
  older_lineages: number;
  unreadable?: string | null;
  columns?: Record<string, Json>;
}

export interface Summaries extends Page<Summary> {
  total?: Big;
}

export interface Lineage {
  id: number;
  type: string;
  description?: string | null;
  parent?: { lineage: number; offset: Big; hash: string } | null;
  opened: string;
  opened_us: Big;
  head: Big;
  hash: string;
  begin: Big;
  events: Big;
  active: boolean;
}

export interface MarkOf {
  label?: string | null;
  status?: string | null;
  /** Offset of the event of the mark. */
  at?: Big;
}

export interface Row {
  offset: Big;
  lineage: number;
  kind: string;
  time_us: Big;
  actor?: string | null;
  text: string;
  step?: Big | null;
  call?: string;
  tool?: string;
  ok?: boolean;
  took_us?: Big;
  mark?: MarkOf;
  erased?: boolean;
}

export interface Rows extends Page<Row> {
  head: Big;
}

export interface TurnCall {
  call: string;
  tool: string;
  arguments?: string;
  ok?: boolean | null;
  result?: string;
  took_us?: Big;
  at?: Big;
}

export interface Turn {
  number: Big;
  step?: Big | null;
  name?: string | null;
  /** Number of the turn in its step, from 0. */
  turn: Big;
  iteration?: Big | null;
  first: Big;
  next: Big;
  time_us?: Big;
  took_us?: Big;
  said?: string;
  heard?: string;
  failed?: string;
  calls: TurnCall[];
  more_calls?: Big;
  usage?: Usage | null;
  metrics?: Record<string, Float>;
  mark?: MarkOf | null;
}

export interface Progress {
  read: Big;
  head: Big;
}

export interface Turns extends Page<Turn>, Progress {
  total: Big;
}

export interface Bucket {
  from: Big;
  events: Big;
  steps: Big;
  calls: Big;
  failed: Big;
  marks: Big;
  usage?: Usage | null;
  time_us?: Big;
}

export interface Overview extends Progress {
  width: Big;
  buckets: Bucket[];
  turns: Big;
}

export interface Event {
  offset: Big;
  lineage: number;
  kind: string;
  time: string;
  time_us: Big;
  user?: string;
  actor?: string;
  body: { [name: string]: Json } | null;
  task?: string;
  hash?: string;
  checkpoint?: string;
  /** In a share: the body is not covered by the hash, or neither is the header (`trusted`). */
  withheld?: "body" | "trusted";
}

export interface Cut {
  cut: string;
  bytes: Big;
  pointer: string;
}

export interface Point {
  address: string;
  task: string;
  lineage: number;
  offset: Big;
  hash: string;
  checkpoint?: string;
}

export interface Change {
  path: string;
  kind: "add" | "remove" | "replace";
  before?: Json;
  after?: Json;
}

export interface Diff {
  items: Change[];
  more: boolean;
}

export interface Blame {
  task: string;
  pointer: string;
  before_oldest?: Big | null;
  changes: {
    point: string;
    offset: Big;
    lineage: number;
    kind: string;
    time: string;
    actor?: string | null;
    before?: Json;
    after?: Json;
  }[];
}

export interface AlignItem {
  op: "same" | "said" | "changed" | "only_a" | "only_b" | "moved";
  a: Turn | null;
  b: Turn | null;
  /** Number of a moved turn in the other history. */
  other?: Big | null;
}

export interface Align extends Page<AlignItem> {
  common: Big;
  counts: Record<AlignItem["op"], Big>;
}

/** Number, or the name of one that JSON lacks: `NaN`, `inf`. */
export type Float = number | string;

export interface MetricCount {
  name: string;
  count: Big;
  last: Float;
  min: Float;
  max: Float;
}

export interface SeriesBucket {
  x: Big;
  first: Float;
  last: Float;
  min: Float;
  max: Float;
  count: Big;
  at: Big;
  last_at: Big;
  min_at: Big;
  max_at: Big;
}

export interface Series {
  items: ({ address: string; buckets: SeriesBucket[] } & Progress)[];
}

export interface Bisected {
  found: string;
  event: Event;
  step?: Big | null;
  changes: Diff;
  /** The event after which it is no longer so; without it, it is so at the point of the search. */
  until?: string | null;
  states: Big;
}

export interface SearchHit {
  address: string;
  task: string;
  row: Row;
}

export interface Checkpoint {
  id: string;
  lineage: number;
  at: Big;
  mark: Big;
  label?: string | null;
}

export interface CapturedFile {
  path: string | { base64: string };
  kind: "file" | "directory" | "link";
  mode: string;
  size?: Big;
  hash?: string;
  target?: string;
  unstable?: boolean;
}

export interface FileChange {
  change: "added" | "removed" | "changed" | "mode" | "renamed" | "left_out" | "taken_in";
  before: CapturedFile | null;
  after: CapturedFile | null;
}

/** What a share withholds: `docs/SHARE.md`. */
export interface SharePlan {
  bytes: Big;
  events: Big;
  withheld: Big;
  trusted: Big;
  finds: { name: string; count: Big; places: string[] }[];
  long: Big;
  longest?: Big;
  copy_only: boolean;
  captures: Big;
}

/** Path of a folder or within one. It is in Base64 if it is not UTF-8. */
export type PathName = string | { base64: string };

/** Folder that was captured in the history of a task. */
export interface Folder {
  folder: PathName;
  /** Last point that has a capture of it. */
  at: string;
  /** Whether there is a folder at the path now, on the service's machine. */
  exists: boolean;
}

export interface PlannedPath {
  path: PathName;
  kind?: string;
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

export interface RestorePlan {
  task: string;
  scope: string;
  from: { lineage: number; offset: Big; hash: string };
  to: { lineage: number; offset: Big; hash: string; checkpoint?: string };
  changes: Change[];
  more: boolean;
  files?: {
    creates: PlannedPath[];
    changes: PlannedPath[];
    deletes: PlannedPath[];
    modes: PlannedPath[];
    conflicts: PathConflict[];
    notes: PlannedPath[];
    /** Paths that differ and stay; those that captures leave out and that changed since. */
    left?: PlannedPath[];
    left_out?: PlannedPath[];
    /** Folders that calls ran in, and that captures do not have. */
    not_covered?: PlannedPath[];
    /** One sentence about all of it. */
    summary?: string;
    bytes: Big;
    needs: Big;
    free: Big;
  };
}
