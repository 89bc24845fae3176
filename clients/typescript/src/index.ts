// `@milepost/client`: records and reads runs over the HTTP service.

export { connect } from "./client.js";
export type {
  Appended,
  AppendOptions,
  Client,
  Event,
  EventRange,
  Mark,
  NewEvent,
  Task,
} from "./client.js";
export { createCheckpointService, isCurrent } from "./checkpointService.js";
export type { Checkpoint, CheckpointService, Lineage } from "./checkpointService.js";
export { addressOf, MilepostError } from "./http.js";
export type { Big, ReadOptions, ServiceOptions, WriteOptions } from "./http.js";
export { Run } from "./run.js";
export type { RunOptions, Step } from "./run.js";
export type { components, operations, paths } from "./schema.js";
