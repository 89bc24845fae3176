// The kinds of events: numbers, names, and fields in stored order.

import { BOOL, DATA, F64, I64, ID16, ID32, JSON_VALUE, STRING, U32, U64 } from "./types.ts";
import { fields, list, map, names, option, or, structure } from "./types.ts";
import type { FieldType, Fields, Type } from "./types.ts";

export interface Kind {
  number: number;
  name: string;
  fields: Fields;
}

const LINEAGE_TYPE = names("root", "automatic", "manual", "restore", "rollback", "branch");
const RUN_CONTROL = names("idle", "running", "paused", "stopped");
const PATCH_FORM = names("merge", "patch");
const SCOPE = names("all", "state", "files");
const ACTIVATION = names("opened", "restored", "undone", "chosen");
const OUTCOME = names("done", "undone", "given_up");
const STATUS = names("success", "failure");
const MARK = names("manual", "step", "idle", "before_tool", "before_restore", "imported");

const POINT = { lineage: U32, offset: U64 };
const PARENT = structure({ ...POINT, hash: ID32 });
const COPIED_FROM = structure({ origin: ID16, ...POINT, hash: ID32 });
const HEAD = structure({ next: U64, hash: ID32 });
const CHUNK_LIST = structure({ len: U64, chunks: list(ID32) });
const REMOVED_MARK = structure({ ...POINT, checkpoint: ID32 });
const LINEAGE_BEGIN = structure({ lineage: U32, head: HEAD });
const RESTORE_PART = structure({
  participant: STRING,
  place: DATA,
  note: option(JSON_VALUE),
  plan: CHUNK_LIST,
  roots: list(ID32),
});
const RESTORE = { from: U32, head: U64, ...POINT, checkpoint: option(ID32), scope: SCOPE };
const ATTACHED = { name: STRING, data: DATA };

const known = new Map<string, Kind>();
const control = new Map<string, Kind>();

function kind(number: number, name: string, of: Record<string, Type | FieldType>): void {
  (number < 256 ? known : control).set(name, { number, name, fields: fields(of) });
}

kind(1, "lineage_opened", {
  lineage_type: LINEAGE_TYPE,
  description: option(STRING),
  parent: option(PARENT),
  initial: option(JSON_VALUE),
  copied_from: option(COPIED_FROM),
});
kind(2, "step_started", { step: U64, name: option(STRING), iteration: option(U64) });
kind(3, "step_finished", { step: U64, result: option(JSON_VALUE), metrics: or(map(F64), 0) });
kind(4, "step_failed", { step: U64, error: STRING });
kind(5, "phase_changed", { previous: option(STRING), phase: STRING, iteration: U64 });
kind(6, "control_changed", { from: RUN_CONTROL, to: RUN_CONTROL, reason: option(STRING) });
kind(7, "guidance_given", { text: STRING, data: option(JSON_VALUE) });
kind(8, "prompt_changed", { prompt: STRING });
kind(9, "rules_changed", { rules: JSON_VALUE });
kind(10, "artifacts_edited", { artifacts: map(JSON_VALUE) });
kind(11, "variables_patched", { form: or(PATCH_FORM, 0), patch: JSON_VALUE });
kind(12, "context_changed", { form: or(PATCH_FORM, 0), patch: JSON_VALUE });
// All other fields of a message follow, as one optional object.
kind(13, "message", { role: STRING, content: option(JSON_VALUE), name: option(STRING) });
kind(14, "tool_called", { call: STRING, tool: STRING, arguments: JSON_VALUE });
kind(15, "tool_returned", {
  call: STRING,
  tool: option(STRING),
  ok: or(BOOL, 1),
  output: option(JSON_VALUE),
});
kind(16, "workspace_captured", { root: ID32, files: U64, bytes: U64, skipped: U64 });
kind(17, "checkpoint_marked", {
  at: option(HEAD),
  parent: option(ID32),
  label: option(STRING),
  cause: or(MARK, 0),
  status: or(STATUS, 0),
  metadata: option(JSON_VALUE),
  aliases: or(list(STRING), 0),
});
kind(18, "checkpoint_unmarked", { checkpoint: ID32, mark: U64 });
kind(19, "checkpoint_attached", { checkpoint: ID32, writer: STRING, index: U32, ...ATTACHED });
kind(20, "restored", RESTORE);
kind(21, "application", ATTACHED);
kind(22, "data_attached", { writer: STRING, index: I64, ...ATTACHED });

kind(256, "store_created", { store: ID16, keyed: BOOL, version: STRING });
kind(257, "task_opened", { task: U64, name: STRING, user: STRING, origin: ID16 });
kind(258, "deleted", { task: U64, opened: U64, origin: ID16 });
kind(259, "lineage_registered", {
  lineage: U32,
  lineage_type: LINEAGE_TYPE,
  description: option(STRING),
  parent: option(PARENT),
});
kind(260, "activated", { lineage: U32, epoch: U64, cause: ACTIVATION, back: option(U64) });
kind(261, "pinned", { checkpoint: ID32, reason: option(STRING) });
kind(262, "unpinned", { checkpoint: ID32 });
kind(263, "owner_set", { user: STRING });
kind(264, "retained", { policy: JSON_VALUE, removed: list(REMOVED_MARK) });
kind(265, "erased", { ...POINT, body_hash: ID32, reason: option(STRING) });
kind(266, "trimmed", { ...POINT, hash: ID32, base: ID32 });
kind(267, "lost", { lineage: option(U32), from: U64, to: U64 });
kind(268, "dropped", { lineage: U32 });
kind(269, "restore_begun", {
  restore: ID16,
  ...RESTORE,
  undoes: option(U64),
  parts: list(RESTORE_PART),
});
kind(270, "restore_ended", { restore: ID16, outcome: OUTCOME, reason: option(STRING) });
kind(271, "task_prepared", { task: U64, origin: ID16, begins: list(LINEAGE_BEGIN) });
kind(272, "files_kept", { epoch: U64, root: ID32, lineage: U32, from: U64 });

/** The numbers of kinds that a verifier looks into. */
export const MESSAGE = 13;
export const MARKED = 17;
export const APPLICATION = 21;
export const REGISTERED = 259;
export const ACTIVATED = 260;
export const TRIMMED = 266;
export const DROPPED = 268;

/** Returns the kind of a name, in a lineage or in a control log. */
export function kindOf(name: string, isControl: boolean): Kind | undefined {
  return (isControl ? control : known).get(name);
}
