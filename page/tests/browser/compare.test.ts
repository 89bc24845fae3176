// Comparisons of histories: next to each other, and what differs between many.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { Harness, assertAccessible, nodes, press, sees, settled, test, until } from "./harness.ts";
import { append, world } from "../mock/world.ts";

let harness: Harness;
before(async () => (harness = await Harness.start(world(0))));
after(() => harness.end());

test("compares_the_states_of_two_lineages", async () => {
  const { page, errors } = await harness.open("#/compare?a=library-34/0&b=library-34/2");
  await sees(page, "only here");
  await press(page, "2");
  await sees(page, "/message_count", ".change");
  await press(page, "1");
  await sees(page, "only here");
  assert.deepEqual(errors, []);
});

test("compares_four_lineages_next_to_each_other", async () => {
  const letters = ["a", "b", "c", "d"].map((letter, i) => `${letter}=library-34/${i}`).join("&");
  const { page, errors } = await harness.open(`#/compare?${letters}`);
  await sees(page, "only here");
  await settled(page);
  const counts = await page.locator(".facts tbody tr").allInnerTexts();
  assert.deepEqual(counts, [
    "B library-34/1\t1\t6\t0\t0\t0\t4\tA @8",
    "C library-34/2\t5\t6\t0\t2\t1\t0\tA @28",
    "D library-34/3\t8\t8\t0\t0\t0\t0\tNo turn differs.",
  ]);
  const selected = page.locator("#aligned .row[aria-selected=true]");
  // Turns of another lineage are between those of the first.
  await press(page, "n");
  await until("the moved turn", async () =>
    (await selected.innerText()).includes("also in A, step 2"),
  );
  assert.deepEqual(await selected.locator(".op").allInnerTexts(), ["⇅", "", ""]);
  await press(page, "n", "n");
  await until("the missing call", async () =>
    (await selected.innerText()).includes("Maps of Rain"),
  );
  assert.deepEqual(await selected.locator(".op").allInnerTexts(), ["=", "A", "="]);
  // A cell chooses its column, which Enter opens.
  await selected.locator(".cell").nth(3).click();
  await until("the column", async () => {
    return (await page.locator("[aria-pressed=true]").innerText()).includes("D · library-34/3");
  });
  await press(page, "Enter");
  await until("the fourth lineage", () => page.url().includes("#/task/library-34/3@29"));
  await page.goBack();
  await sees(page, "only here");
  await page.getByRole("button", { name: "C · library-34/2" }).click();
  await page.getByRole("button", { name: "Swap" }).click();
  await until("the first column", () =>
    page.url().includes("a=library-34/2&b=library-34/1&c=library-34/0"),
  );
  await sees(page, "not in A", "#aligned");
  await page.getByRole("button", { name: "Only differences" }).click();
  await sees(page, /\d same turns?/, "#aligned");
  assert.ok((await nodes(page)) < 3_000);
  assert.deepEqual(errors, []);
});

const LINEAGES = (count: number) =>
  Array.from({ length: count }, (_, i) => `at=tune-river/${i}`).join("&");

test("six_lineages_are_next_to_each_other", async () => {
  const { page, errors } = await harness.open(`#/compare?${LINEAGES(6)}`);
  await page.locator("#aligned .row").first().waitFor();
  await settled(page);
  assert.equal(await page.locator(".row.head button").count(), 6);
  assert.ok((await nodes(page)) < 3_000, String(await nodes(page)));
  await assertAccessible(page, "six columns");
  await page.setViewportSize({ width: 640, height: 480 });
  await settled(page);
  assert.equal(await page.locator(".row.head button:visible").count(), 2);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 640);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Metrics" }).click();
  await sees(page, "6 lineages", "header");
  assert.deepEqual(errors, []);
});

test("of_nine_histories_a_table_has_only_what_differs", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("tune-river")!;
  task.lanes.slice(0, 9).forEach((lane, i) => {
    const patch = { seed: i % 3, plan: "descend", notes: `${"note ".repeat(50)}${i}` };
    append(own.world, task, lane, [{ kind: "variables_patched", form: "merge", patch }]);
  });
  const { page, errors } = await own.open(`#/compare?${LINEAGES(9)}&at=nothing&at=tune-river/9@9`);
  await sees(page, "5 rows with differences", "footer");
  const rows = page.locator("tbody tr");
  assert.deepEqual(await rows.locator("th").allInnerTexts(), [
    "/metrics/loss",
    "/metrics/step_size",
    "/variables/seed",
    "/variables/plan",
    "/variables/notes",
  ]);
  const seeds = await rows.nth(2).locator("td").allInnerTexts();
  assert.deepEqual(seeds, ["0", "1", "2", "0", "1", "2", "0", "1", "2", "—"]);
  // What has no column says why; what is equal is named.
  await sees(page, "nothing: there is no task `nothing`", ".doc");
  await sees(page, "also where an address is a point within one", ".doc");
  await page.getByText("6 rows the same in all").click();
  await sees(page, "Steps: 120", "details");
  await assertAccessible(page, "what differs between histories");
  // A cut value leads to the whole of it, a column to its history.
  await page.getByRole("button", { name: "all 251 characters" }).nth(4).click();
  const state = "tune-river/4?tab=state&pointer=/variables/notes";
  await until("the state", () => page.url().endsWith(state));
  await page.goBack();
  await page.getByRole("link", { name: "tune-river/7", exact: true }).click();
  await until("the history", () => page.url().endsWith("#/task/tune-river/7"));
  await page.goBack();
  await page.getByRole("button", { name: "Metrics" }).click();
  await sees(page, "11 lineages", "header");
  await page.goBack();
  await page.getByRole("button", { name: "First 6, step by step" }).click();
  await page.locator("#aligned .row").first().waitFor();
  assert.equal(await page.locator(".row.head button").count(), 6);
  assert.deepEqual(errors, []);
});

test("what_differs_between_fifty_histories_needs_few_nodes", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("tune-river")!;
  for (const lane of task.lanes) {
    const all = Array.from({ length: 70 }, (_, i) => [`v${i}`, lane.id * i]);
    const body = { kind: "variables_patched", form: "merge", patch: Object.fromEntries(all) };
    append(own.world, task, lane, [body]);
  }
  const { page, errors } = await own.open(`#/compare?${LINEAGES(50)}&at=tune-river/0`);
  await sees(page, "The first 50 of 51 are compared.");
  // The first variable is 0 in all.
  await sees(page, "Rows 1 to 30 of 70");
  assert.equal(await page.locator("thead th").count(), 50);
  assert.ok((await nodes(page)) < 3_000, String(await nodes(page)));
  const paths = own.world.asked.map((one) => one.path);
  assert.equal(paths.filter((path) => path.endsWith("/summary")).length, 1);
  await page.getByRole("button", { name: "Next rows" }).click();
  await sees(page, "Rows 31 to 60 of 70");
  await press(page, "n");
  await sees(page, "Rows 61 to 70 of 70");
  await press(page, "n");
  await sees(page, "There is none in this direction.", ".notice");
  await press(page, "N");
  await sees(page, "Rows 31 to 60 of 70");
  await assertAccessible(page, "what differs between fifty");
  await page.setViewportSize({ width: 640, height: 480 });
  await settled(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 640);
  assert.deepEqual(errors, []);
});

test("a_column_without_an_alignment_says_so", async () => {
  const { page, errors } = await harness.open("#/compare?a=library-34/0&b=nothing&c=library-34/2");
  await sees(page, "only here");
  await sees(page, "there is no task `nothing`", ".facts");
  assert.deepEqual(await page.locator(".row.head button").allInnerTexts(), [
    "A · library-34/0",
    "C · library-34/2",
  ]);
  await assertAccessible(page, "a column without an alignment");
  assert.deepEqual(errors, []);
});

test("compares_the_files_of_two_points", async () => {
  const { page, errors } = await harness.open(
    "#/compare?a=stones/0@10&b=stones/0@42&c=library-34/0",
  );
  await page.locator("#aligned .row").first().waitFor();
  await page.getByRole("button", { name: "Files" }).click();
  await sees(page, "From stones/0@10 to stones/0@42");
  await page.getByRole("button", { name: "done.txt added" }).click();
  await sees(page, "+<b>half of it</b>", ".hunk .is");
  await page.getByRole("button", { name: "notes/count.md changed" }).click();
  await sees(page, "Changes of notes/count.md");
  await assertAccessible(page, "files of two points");
  await page.getByRole("button", { name: "C · library-34/0" }).click();
  await sees(page, "Of one of the two, or of both, no folder was captured before its end.");
  await sees(page, "no capture before this point");
  await assertAccessible(page, "no files of two points");
  assert.deepEqual(errors, []);
});
