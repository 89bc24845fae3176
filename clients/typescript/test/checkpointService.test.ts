// 001: the service layer of the front end, against a real service.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createCheckpointService, isCurrent, MilepostError } from "../src/checkpointService.js";
import type { Checkpoint, CheckpointService } from "../src/checkpointService.js";
import { start, steps } from "./milepost.js";
import type { Milepost } from "./milepost.js";

let milepost: Milepost;
let service: CheckpointService;

before(async () => {
  milepost = await start();
  service = createCheckpointService(milepost);
});

after(() => milepost?.stop());

async function all(task: string): Promise<Checkpoint[]> {
  const checkpoints = [];
  for await (const checkpoint of service.eachCheckpoint(task, { limit: 2 })) {
    checkpoints.push(checkpoint);
  }
  return checkpoints;
}

/** Returns the checkpoint of a step of `exec-001`. */
async function ofStep(step: number): Promise<Checkpoint> {
  const { items } = await service.checkpoints("exec-001", { metadata: { step } });
  assert(items[0]);
  return items[0];
}

async function activeLineage(): Promise<number | undefined> {
  return (await service.lineages("exec-001")).find((lineage) => lineage.active)?.id;
}

function problem(status: number, title?: string) {
  return (error: unknown) => {
    assert(error instanceof MilepostError);
    assert.equal(error.status, status);
    assert.notEqual(error.detail, "");
    if (title !== undefined) {
      assert.equal(error.title, title);
    }
    return true;
  };
}

test("seed_001 checkpoints are listed by page and one after another, newest first", async () => {
  const first = await service.checkpoints("exec-001", { limit: 2 });
  assert.deepEqual(
    first.items.map((checkpoint) => checkpoint.metadata?.["step"]),
    [steps, steps - 1],
  );
  const second = await service.checkpoints("exec-001", { limit: 2, cursor: first.next });
  assert.equal(second.items[0]?.metadata?.["step"], steps - 2);

  const listed = await all("exec-001");
  assert.deepEqual(
    listed.map((checkpoint) => checkpoint.metadata?.["step"]),
    [5, 4, 3, 2, 1],
  );
  assert.deepEqual(await service.checkpoint(listed[0]!.id), listed[0]);
});

test("seed_001 a restore is planned, made and undone", async () => {
  const target = await ofStep(2);
  const later = await ofStep(4);
  const score = { path: "/variables/score", kind: "replace", before: steps, after: 2 };

  const plan = await service.planRestore({ to: `@${target.id}` });
  const planned = plan.changes.find(({ path }) => path === score.path);
  assert.deepEqual(planned, score);
  assert.equal(await activeLineage(), 0);

  const restored = await service.restore({ to: `@${target.id}`, description: "once more" });
  assert.equal(restored.lineage.description, "once more");
  assert.equal(await activeLineage(), restored.lineage.id);
  const lineages = await service.lineages("exec-001");
  assert(isCurrent(target, lineages));
  assert(!isCurrent(later, lineages));

  const { items } = await service.difference(`@${later.id}`, "exec-001");
  assert(items.some(({ path, after }) => path === score.path && after === 2));

  const undone = await service.undo("exec-001");
  assert.equal(undone.lineage.id, 0);
  assert(isCurrent(later, await service.lineages("exec-001")));

  const redone = await service.redo("exec-001");
  assert.equal(redone.lineage.id, restored.lineage.id);
  const switched = await service.switchTo("exec-001", 0);
  assert.equal(switched.lineage.id, 0);
});

test("seed_001 a restore whose answer is lost is made once", async () => {
  const keys: (string | null)[] = [];
  const losing = createCheckpointService({
    ...milepost,
    async fetch(request) {
      const response = await fetch(request);
      keys.push(request.headers.get("Idempotency-Key"));
      if (keys.length === 1) {
        throw new TypeError("the connection broke");
      }
      return response;
    },
  });
  const before = await service.lineages("exec-001");
  const restored = await losing.restore({ to: `@${(await ofStep(1)).id}` });
  assert.equal(keys.length, 2);
  assert(keys[0]);
  assert.equal(keys[0], keys[1]);
  assert.equal((await service.lineages("exec-001")).length, before.length + 1);
  assert.equal(await activeLineage(), restored.lineage.id);
  await service.undo("exec-001");
});

test("seed_001 a checkpoint is marked with a label once under a key, and removed", async () => {
  const label = "before the review";
  const marked = await service.mark("exec-001", { label }, { key: "review" });
  assert.equal(marked.label, label);
  assert.equal((await service.mark("exec-001", { label }, { key: "review" })).id, marked.id);
  assert.equal((await all("exec-001")).length, steps + 1);

  await service.unmark(marked.id);
  await assert.rejects(service.checkpoint(marked.id), problem(404));
  assert.equal((await all("exec-001")).length, steps);
});

test("seed_001 statistics count the checkpoints", async () => {
  const stats = await service.stats();
  assert.equal("checkpoints" in stats && stats.checkpoints, steps);
});

test("seed_001 a refusal is an error with the service's status, title and detail", async () => {
  await assert.rejects(service.checkpoint("00000000"), problem(404, "It is not there"));
  await assert.rejects(service.checkpoints("exec-002"), problem(404, "It is not there"));
  const late = service.mark("exec-001", {}, { expectedHead: "1" });
  await assert.rejects(late, (error) => {
    return error instanceof MilepostError && error.status === 412 && Number(error.head) > 1;
  });

  const stranger = createCheckpointService({ ...milepost, token: "mp_00000000_0" });
  await assert.rejects(stranger.checkpoints("exec-001"), problem(401));

  const html = new Response("<h1>Bad Gateway</h1>", { status: 502, statusText: "Bad Gateway" });
  const proxied = createCheckpointService({ ...milepost, fetch: async () => html });
  await assert.rejects(proxied.stats(), problem(502, "Bad Gateway"));
});

test("seed_001 a name that leads to another route is refused before it is sent", async () => {
  await assert.rejects(service.checkpoints(".."), RangeError);
  await assert.rejects(service.unmark(""), RangeError);
});
