// Hooks for React over `checkpointService`, on TanStack Query. They fetch lists anew after each
// change.

import {
  skipToken,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { QueryKey } from "@tanstack/react-query";
import { createContext, createElement, useContext } from "react";
import type { ReactNode } from "react";
import { isCurrent, MilepostError } from "./checkpointService.js";
import type {
  Checkpoint,
  CheckpointFilter,
  CheckpointService,
  MarkRequest,
  RestoreRequest,
  WriteOptions,
} from "./checkpointService.js";

/** A checkpoint in the list of its task. */
export interface ListedCheckpoint extends Checkpoint {
  /** Whether it is in the history of the active lineage: false for what a restore left behind. */
  current: boolean;
}

/**
 * The keys of the queries. Each is a prefix of those below it. They assume one service for a
 * `QueryClient`.
 */
export const checkpointKeys = {
  all: ["milepost"] as const,
  task: (task: string) => [...checkpointKeys.all, "task", task] as const,
  list: (task: string, filter: CheckpointFilter = {}) =>
    [...checkpointKeys.task(task), "checkpoints", filter] as const,
  checkpoints: () => [...checkpointKeys.all, "checkpoint"] as const,
  checkpoint: (id: string | undefined) => [...checkpointKeys.checkpoints(), id] as const,
  /** Answers that depend on addresses, which a change of any task can move. */
  points: () => [...checkpointKeys.all, "points"] as const,
  plan: (request: RestoreRequest | undefined) =>
    [...checkpointKeys.points(), "plan", request] as const,
  difference: (from: string | undefined, to: string | undefined) =>
    [...checkpointKeys.points(), "difference", from, to] as const,
  workspace: (task: string) => [...checkpointKeys.task(task), "workspace"] as const,
  stats: () => [...checkpointKeys.all, "stats"] as const,
};

const ServiceContext = createContext<CheckpointService | undefined>(undefined);

/** Provides the service to the hooks below it. */
export function CheckpointServiceProvider(props: {
  service: CheckpointService;
  children?: ReactNode;
}) {
  return createElement(ServiceContext.Provider, { value: props.service }, props.children);
}

/** Returns the provided service. */
export function useCheckpointService(): CheckpointService {
  const service = useContext(ServiceContext);
  if (!service) {
    throw new Error("there is no CheckpointServiceProvider above this component");
  }
  return service;
}

/**
 * Lists the checkpoints of a task, newest first. `data` has those of all pages that are loaded;
 * `fetchNextPage` loads one more, and `hasNextPage` is true if there is one.
 */
export function useCheckpoints(task: string, filter: CheckpointFilter = {}) {
  const service = useCheckpointService();
  return useInfiniteQuery({
    queryKey: checkpointKeys.list(task, filter),
    queryFn: async ({ pageParam, signal }) => {
      const [page, lineages] = await Promise.all([
        service.checkpoints(task, { ...filter, cursor: pageParam, signal }),
        service.lineages(task, { signal }),
      ]);
      const items = page.items.map(
        (checkpoint): ListedCheckpoint => ({
          ...checkpoint,
          current: isCurrent(checkpoint, lineages),
        }),
      );
      return { items, next: page.next };
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    select: allItems,
    retry,
  });
}

/** Returns a checkpoint. Waits while the id is undefined. */
export function useCheckpoint(id: string | undefined) {
  const service = useCheckpointService();
  return useQuery({
    queryKey: checkpointKeys.checkpoint(id),
    queryFn:
      id === undefined ? skipToken : ({ signal }) => service.checkpoint(id, { signal }),
    retry,
  });
}

/** Returns the effects that a restore would have. Waits while the request is undefined. */
export function useRestorePlan(request: RestoreRequest | undefined) {
  const service = useCheckpointService();
  return useQuery({
    queryKey: checkpointKeys.plan(request),
    queryFn: request ? ({ signal }) => service.planRestore(request, { signal }) : skipToken,
    retry,
  });
}

/** Returns the differences between the states at two addresses. Waits while one is undefined. */
export function useDifference(from: string | undefined, to: string | undefined) {
  const service = useCheckpointService();
  return useQuery({
    queryKey: checkpointKeys.difference(from, to),
    queryFn:
      from === undefined || to === undefined
        ? skipToken
        : ({ signal }) => service.difference(from, to, { signal }),
    retry,
  });
}

/**
 * Returns the state of the folder of a task, and asks again: each half second while it is captured
 * or restored, each five seconds otherwise.
 */
export function useWorkspace(task: string) {
  const service = useCheckpointService();
  return useQuery({
    queryKey: checkpointKeys.workspace(task),
    queryFn: ({ signal }) => service.workspace(task, { signal }),
    refetchInterval: ({ state }) =>
      ["creating", "restoring"].includes(state.data?.state ?? "") ? 500 : 5000,
    retry,
  });
}

/** Returns the numbers of the caller's tasks, or, for an admin, of the store. */
export function useStats() {
  const service = useCheckpointService();
  return useQuery({
    queryKey: checkpointKeys.stats(),
    queryFn: ({ signal }) => service.stats({ signal }),
    retry,
  });
}

/** Restores the task to a point. */
export function useRestore(task: string) {
  return useChange(
    task,
    (service, { key, expectedHead, signal, ...request }: RestoreRequest & WriteOptions) =>
      service.restore(request, { key, expectedHead, signal }),
  );
}

/** Undoes the last restore of the task. */
export function useUndo(task: string) {
  return useChange(task, (service, options: WriteOptions | void) =>
    service.undo(task, options ?? {}),
  );
}

/** Marks a checkpoint of the task. */
export function useMark(task: string) {
  return useChange(
    task,
    (service, { key, expectedHead, signal, ...request }: MarkRequest & WriteOptions) =>
      service.mark(task, request, { key, expectedHead, signal }),
  );
}

/** Removes the mark of a checkpoint of the task. Takes its id. */
export function useUnmark(task: string) {
  return useChange(task, (service, id: string) => service.unmark(id), [
    checkpointKeys.checkpoints(),
  ]);
}

/** A mutation that ends when the queries it can concern are fetched anew. */
function useChange<Result, Asked>(
  task: string,
  change: (service: CheckpointService, asked: Asked) => Promise<Result>,
  more: QueryKey[] = [],
) {
  const service = useCheckpointService();
  const client = useQueryClient();
  return useMutation<Result, Error, Asked>({
    mutationFn: (asked) => change(service, asked),
    // The service repeats a write under its key. A retry here would get another key, and could act
    // twice.
    retry: false,
    // After an error, too: if the answer was lost, the change may have been made.
    onSettled: () =>
      Promise.all(
        [
          checkpointKeys.task(task),
          checkpointKeys.points(),
          checkpointKeys.stats(),
          ...more,
        ].map((queryKey) => client.invalidateQueries({ queryKey })),
      ),
  });
}

/** One function for all renders, so that TanStack Query does not select again without need. */
function allItems({ pages }: { pages: { items: ListedCheckpoint[] }[] }): ListedCheckpoint[] {
  return pages.flatMap((page) => page.items);
}

/** Repeats a read three times, except if the service refused it: the answer would be the same. */
function retry(failures: number, error: Error): boolean {
  const refused =
    error instanceof MilepostError && error.status < 500 && error.status !== 429;
  return failures < 3 && !refused;
}
