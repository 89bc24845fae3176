// The checkpoints of a task, for front ends: list, look, go back, undo. Calls the service's `/v1`.

import { answer, defined, once, open, segment } from "./http.js";
import type {
  Cursor,
  Page,
  ReadOptions,
  ServiceOptions,
  WriteHeaders,
  WriteOptions,
} from "./http.js";
import type { components } from "./schema.js";

export { MilepostError } from "./http.js";
export type { Big, Cursor, Page, ReadOptions, WriteOptions } from "./http.js";

type Forms = components["schemas"];

/** A marked point of a task. */
export type Checkpoint = Forms["CheckpointForm"];
/** A branch of a task's history. One of them is active. */
export type Lineage = Forms["LineageForm"];
/** The effects that a restore would have. */
export type RestorePlan = Forms["RestorePlanForm"];
/** The task and its active lineage after a restore, an undo, a switch or a redo. */
export type Restored = Forms["RestoredForm"];
/** The differences between two states. */
export type Difference = Forms["ChangesForm"];
/** The numbers of the store, or of one user's tasks. */
export type Stats = Forms["StatsForm"];
/** The state of the folder of a task: idle, captured, restored, or the reason of a failure. */
export type WorkspaceState = Forms["WorkspaceStateForm"];
/** The target of a restore, and its scope. */
export type RestoreRequest = Forms["RestoreRequest"];
/** A checkpoint to mark. */
export type MarkRequest = Forms["CheckpointRequest"];

/** The checkpoints to list. */
export interface CheckpointFilter {
  /** Only checkpoints marked on this lineage. */
  lineage?: number | undefined;
  /** Only checkpoints of this status. */
  status?: "success" | "failure" | undefined;
  /** Only checkpoints whose metadata contains all of these fields. */
  metadata?: Record<string, unknown> | undefined;
  /** The page size: 1 to 100, 20 by default. */
  limit?: number | undefined;
}

/** Where the service is, and how to reach it. */
export type CheckpointServiceOptions = ServiceOptions;

/**
 * The functions of `createCheckpointService`. All of them throw `MilepostError` if the service
 * refuses.
 */
export interface CheckpointService {
  /** Returns one page of a task's checkpoints, newest first. */
  checkpoints(
    task: string,
    options?: CheckpointFilter & ReadOptions & Cursor,
  ): Promise<Page<Checkpoint>>;
  /**
   * Iterates over all checkpoints of a task, newest first, and requests pages as they are needed.
   */
  eachCheckpoint(
    task: string,
    options?: CheckpointFilter & ReadOptions,
  ): AsyncGenerator<Checkpoint, void, undefined>;
  /** Returns a checkpoint by its id, a unique prefix of 8 or more digits, or an alias. */
  checkpoint(id: string, options?: ReadOptions): Promise<Checkpoint>;
  /** Returns all lineages of a task. */
  lineages(task: string, options?: ReadOptions): Promise<Lineage[]>;
  /** Returns the state of the folder of a task. */
  workspace(task: string, options?: ReadOptions): Promise<WorkspaceState>;
  /** Returns the differences from the state at one address to the state at another. */
  difference(from: string, to: string, options?: ReadOptions): Promise<Difference>;
  /** Returns the effects of a restore without changing anything. */
  planRestore(request: RestoreRequest, options?: ReadOptions): Promise<RestorePlan>;
  /**
   * Restores a task to a point: opens a new lineage there and activates it. A restore with files
   * takes neither `key` nor `expectedHead`.
   */
  restore(request: RestoreRequest, options?: WriteOptions): Promise<Restored>;
  /** Undoes the last restore of a task: activates the previous lineage. */
  undo(task: string, options?: WriteOptions): Promise<Restored>;
  /** Takes the last undo of a task back: activates the lineage that the undo left. */
  redo(task: string, options?: WriteOptions): Promise<Restored>;
  /** Switches a task to one of its lineages. Files stay as they are. */
  switchTo(task: string, lineage: number, options?: WriteOptions): Promise<Restored>;
  /** Marks a checkpoint, by default at the head of the active lineage. */
  mark(task: string, request?: MarkRequest, options?: WriteOptions): Promise<Checkpoint>;
  /** Removes a checkpoint's mark. Its events stay. A pinned checkpoint is refused with 409. */
  unmark(id: string, options?: ReadOptions): Promise<void>;
  /** Returns the numbers of the caller's tasks, of a user's, or, for an admin, of the store. */
  stats(
    options?: ReadOptions & Cursor & { user?: string | undefined; limit?: number | undefined },
  ): Promise<Stats>;
}

/** Returns the functions for a service, MILEPOST_SERVER by default. Sends nothing. */
export function createCheckpointService(options: CheckpointServiceOptions): CheckpointService {
  const client = open(options);

  async function checkpoints(
    task: string,
    options: CheckpointFilter & ReadOptions & Cursor = {},
  ): Promise<Page<Checkpoint>> {
    const { lineage, status, metadata, limit, cursor, signal } = options;
    const filter = metadata && JSON.stringify(metadata);
    const query = defined({ lineage, status, filter, limit, cursor });
    return answer(
      client.GET("/v1/tasks/{task}/checkpoints", {
        params: { path: { task: segment(task) }, query },
        signal: signal ?? null,
      }),
    );
  }

  return {
    checkpoints,

    async *eachCheckpoint(task, options = {}) {
      let cursor: string | null | undefined;
      do {
        const page = await checkpoints(task, { ...options, cursor });
        yield* page.items;
        cursor = page.next;
      } while (cursor != null);
    },

    async checkpoint(id, { signal } = {}) {
      return answer(
        client.GET("/v1/checkpoints/{id}", {
          params: { path: { id: segment(id) } },
          signal: signal ?? null,
        }),
      );
    },

    async lineages(task, { signal } = {}) {
      const { items } = await answer(
        client.GET("/v1/tasks/{task}/lineages", {
          params: { path: { task: segment(task) } },
          signal: signal ?? null,
        }),
      );
      return items;
    },

    async workspace(task, { signal } = {}) {
      return answer(
        client.GET("/v1/tasks/{task}/workspace", {
          params: { path: { task: segment(task) } },
          signal: signal ?? null,
        }),
      );
    },

    async difference(from, to, { signal } = {}) {
      return answer(
        client.GET("/v1/points/{address}/diff/{other}", {
          params: { path: { address: segment(from), other: segment(to) } },
          signal: signal ?? null,
        }),
      );
    },

    async planRestore(request, { signal } = {}) {
      return answer(
        client.POST("/v1/restores/plan", { body: request, signal: signal ?? null }),
      );
    },

    async restore(request, options = {}) {
      const send = (headers: WriteHeaders) =>
        answer(
          client.POST("/v1/restores", {
            params: { header: headers },
            body: request,
            signal: options.signal ?? null,
          }),
        );
      // The service refuses both headers for files. Without a key a repetition could act twice.
      return (request.scope ?? "state") === "state" ? once(options, send) : send({});
    },

    async undo(task, options = {}) {
      return once(options, (headers) =>
        answer(
          client.POST("/v1/tasks/{task}/undo", {
            params: { path: { task: segment(task) }, header: headers },
            signal: options.signal ?? null,
          }),
        ),
      );
    },

    async redo(task, options = {}) {
      return once(options, (headers) =>
        answer(
          client.POST("/v1/tasks/{task}/redo", {
            params: { path: { task: segment(task) }, header: headers },
            signal: options.signal ?? null,
          }),
        ),
      );
    },

    async switchTo(task, lineage, options = {}) {
      return once(options, (headers) =>
        answer(
          client.PUT("/v1/tasks/{task}/active", {
            params: { path: { task: segment(task) }, header: headers },
            body: { lineage },
            signal: options.signal ?? null,
          }),
        ),
      );
    },

    async mark(task, request = {}, options = {}) {
      return once(options, (headers) =>
        answer(
          client.POST("/v1/tasks/{task}/checkpoints", {
            params: { path: { task: segment(task) }, header: headers },
            body: request,
            signal: options.signal ?? null,
          }),
        ),
      );
    },

    async unmark(id, { signal } = {}) {
      await answer(
        client.DELETE("/v1/checkpoints/{id}", {
          params: { path: { id: segment(id) } },
          signal: signal ?? null,
        }),
      );
    },

    async stats({ user, limit, cursor, signal } = {}) {
      const query = defined({ user, limit, cursor });
      return answer(client.GET("/v1/stats", { params: { query }, signal: signal ?? null }));
    },
  };
}

/**
 * Returns whether the marked point is in the history of the task's active lineage. After a restore,
 * checkpoints later than its target are not.
 */
export function isCurrent(checkpoint: Checkpoint, lineages: Lineage[]): boolean {
  let lineage = lineages.find((lineage) => lineage.active);
  // An ancestor's history is shared up to the point where the next lineage forks, inclusive.
  let end: bigint | undefined;
  while (lineage) {
    if (lineage.id === checkpoint.lineage) {
      return end === undefined || BigInt(checkpoint.at) <= end;
    }
    const parent: Lineage["parent"] = lineage.parent;
    if (!parent) {
      return false;
    }
    const fork = BigInt(parent.offset);
    end = end === undefined || fork < end ? fork : end;
    lineage = lineages.find((lineage) => lineage.id === parent.lineage);
  }
  return false;
}
