// 001: the hooks of the front end, against a real service.

import "./dom.js";

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  act,
  cleanup,
  configure,
  fireEvent,
  render,
  renderHook,
  screen,
  waitFor,
} from "@testing-library/react";
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { createElement } from "react";
import type { ReactNode } from "react";
import { CheckpointList } from "../src/checkpointList.js";
import { createCheckpointService, MilepostError } from "../src/checkpointService.js";
import type { CheckpointService } from "../src/checkpointService.js";
import {
  checkpointKeys,
  CheckpointServiceProvider,
  useCheckpoint,
  useCheckpoints,
  useDifference,
  useMark,
  useRestore,
  useRestorePlan,
  useStats,
  useUndo,
  useUnmark,
  useWorkspace,
} from "../src/useCheckpoints.js";
import { start, steps } from "./milepost.js";
import type { Milepost } from "./milepost.js";

let milepost: Milepost;
let service: CheckpointService;
let client: QueryClient;

// A machine that does much else answers later than the default of a second.
configure({ asyncUtilTimeout: 20_000 });

before(async () => {
  milepost = await start();
  service = createCheckpointService(milepost);
});

beforeEach(() => {
  // By default unused answers are kept for five minutes, which Node.js waits for.
  const kept = { gcTime: Infinity };
  client = new QueryClient({ defaultOptions: { queries: kept, mutations: kept } });
});

afterEach(() => {
  cleanup();
  client.clear();
});

after(() => milepost?.stop());

function wrapper({ children }: { children: ReactNode }) {
  const provider = createElement(CheckpointServiceProvider, { service }, children);
  return createElement(QueryClientProvider, { client }, provider);
}

/** Returns the steps of the listed checkpoints that the active lineage has. */
function current(list: ReturnType<typeof useCheckpoints>) {
  return list.data
    ?.filter((checkpoint) => checkpoint.current)
    .map((checkpoint) => checkpoint.metadata?.["step"]);
}

test("seed_001 the list of a task loads page after page", async () => {
  const { result } = renderHook(() => useCheckpoints("exec-001", { limit: 3 }), { wrapper });
  await waitFor(() => assert.deepEqual(current(result.current), [5, 4, 3]));
  assert(result.current.hasNextPage);
  await act(() => result.current.fetchNextPage());
  await waitFor(() => assert.deepEqual(current(result.current), [5, 4, 3, 2, 1]));
  assert(!result.current.hasNextPage);
});

test("seed_001 the list, a plan and a difference follow a restore and its undo", async () => {
  const { items } = await service.checkpoints("exec-001", { metadata: { step: 2 } });
  const to = `@${items[0]!.id}`;
  const { result } = renderHook(
    () => ({
      list: useCheckpoints("exec-001"),
      plan: useRestorePlan({ to }),
      difference: useDifference(to, "exec-001"),
      restore: useRestore("exec-001"),
      undo: useUndo("exec-001"),
    }),
    { wrapper },
  );
  const score = () =>
    [result.current.plan.data?.changes, result.current.difference.data?.items].map(
      (changes) => changes?.some(({ path }) => path === "/variables/score"),
    );
  await waitFor(() => assert.deepEqual(current(result.current.list), [5, 4, 3, 2, 1]));
  await waitFor(() => assert.deepEqual(score(), [true, true]));

  await act(() => result.current.restore.mutateAsync({ to, description: "once more" }));
  await waitFor(() => assert.deepEqual(current(result.current.list), [2, 1]));
  await waitFor(() => assert.deepEqual(score(), [false, false]));
  assert.equal(result.current.list.data?.length, steps);

  await act(() => result.current.undo.mutateAsync());
  await waitFor(() => assert.deepEqual(current(result.current.list), [5, 4, 3, 2, 1]));
});

test("seed_004 a list of checkpoints restores one after a question with its plan", async () => {
  const restored: string[] = [];
  const list = createElement(CheckpointList, {
    task: "exec-001",
    limit: 3,
    row: (one) => `step ${String(one.metadata?.["step"])}`,
    onRestored: (one) => restored.push(one.id),
  });
  render(list, { wrapper });
  const rows = () => screen.queryAllByRole("listitem");
  await waitFor(() => assert.equal(rows().length, 3));
  fireEvent.click(screen.getByText("Older checkpoints"));
  await waitFor(() => assert.equal(rows().length, steps));
  const second = rows()[3]!;
  assert.equal(second.querySelector(".milepost-row")?.textContent, "step 2");
  fireEvent.click(second.querySelector("button")!);
  await waitFor(() => assert.match(second.textContent ?? "", /values? changes?/));
  fireEvent.click(screen.getByText("Cancel"));
  assert.equal(screen.queryByText("Restore now"), null);
  fireEvent.click(second.querySelector("button")!);
  await waitFor(() => assert(!screen.getByText<HTMLButtonElement>("Restore now").disabled));
  fireEvent.click(screen.getByText("Restore now"));
  await waitFor(() => assert.equal(restored.length, 1));
  await waitFor(() => assert.equal(document.querySelectorAll(".milepost-left").length, 3));
  await act(() => service.undo("exec-001"));
});

test("seed_001 the list and the statistics follow a mark and its removal", async () => {
  const { result } = renderHook(
    () => ({
      list: useCheckpoints("exec-001"),
      stats: useStats(),
      mark: useMark("exec-001"),
      unmark: useUnmark("exec-001"),
    }),
    { wrapper },
  );
  const counts = () => {
    const stats = result.current.stats.data;
    return [
      result.current.list.data?.length,
      stats && "checkpoints" in stats ? Number(stats.checkpoints) : undefined,
    ];
  };
  await waitFor(() => assert.deepEqual(counts(), [steps, steps]));

  const marked = await act(() => result.current.mark.mutateAsync({ label: "review" }));
  await waitFor(() => assert.deepEqual(counts(), [steps + 1, steps + 1]));
  assert.equal(result.current.list.data?.[0]?.label, "review");

  await act(() => result.current.unmark.mutateAsync(marked.id));
  await waitFor(() => assert.deepEqual(counts(), [steps, steps]));
});

test("seed_001 a checkpoint waits for its id, and a missing one is an error at once", async () => {
  const { result, rerender } = renderHook(({ id }) => useCheckpoint(id), {
    wrapper,
    initialProps: { id: undefined as string | undefined },
  });
  assert.equal(result.current.fetchStatus, "idle");

  rerender({ id: "00000000" });
  await waitFor(() => assert(result.current.error instanceof MilepostError));
  assert.equal((result.current.error as MilepostError).status, 404);
  assert.equal(result.current.failureCount, 1);

  const { items } = await service.checkpoints("exec-001", { limit: 1 });
  rerender({ id: items[0]!.id });
  await waitFor(() => assert.deepEqual(result.current.data, items[0]));
  assert.deepEqual(client.getQueryData(checkpointKeys.checkpoint(items[0]!.id)), items[0]);
});

test("seed_001 a refused restore is an error of the mutation", async () => {
  const { result } = renderHook(() => useRestore("exec-001"), { wrapper });
  act(() => result.current.mutate({ to: "exec-001@no-such-label" }));
  await waitFor(() => assert(result.current.error instanceof MilepostError));
  assert.equal((result.current.error as MilepostError).status, 404);
});

test("seed_004 the state of the folder of a task is shown, and is idle before its first capture", async () => {
  const { result, unmount } = renderHook(() => useWorkspace("exec-001"), { wrapper });
  await waitFor(() => assert.equal(result.current.data?.state, "idle"));
  assert.equal(result.current.data?.folder, null);
  unmount();
});
