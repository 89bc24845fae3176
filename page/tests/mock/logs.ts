// Logs of the tests' own making, as the service would hold them.

export type Body = { kind: string; [name: string]: unknown };

export interface Stored {
  body: Body | null;
  kind: string;
  time_us: number;
  actor?: string;
}

export interface Lane {
  id: number;
  type: string;
  description: string | null;
  parent: number | null;
  fork: number;
  /** First offset that a cleanup left. */
  begin?: number;
  events: Stored[];
  /** Whether a restore with files opened it. */
  withFiles?: boolean;
  outcome: { status?: string; value?: unknown; good?: boolean };
}

export interface Task {
  id: string;
  user: string;
  control: string;
  active: number;
  lanes: Lane[];
  created_us: number;
}

const START = Date.UTC(2026, 0, 5, 9, 0, 0) * 1000;

class Writer {
  readonly events: Stored[];
  #step = 0;
  #time: number;

  constructor(
    from: Stored[] = [],
    readonly gap = 40_000,
  ) {
    this.events = [...from];
    this.#time = from.at(-1)?.time_us ?? START;
    this.#step = from.filter((one) => one.kind === "step_started").length;
  }

  add(body: Body, actor?: string): this {
    this.#time += this.gap;
    const event: Stored = { body, kind: body.kind, time_us: this.#time };
    this.events.push(actor ? { ...event, actor } : event);
    return this;
  }

  say(role: string, content: unknown, extra: object = {}): this {
    return this.add(
      { kind: "message", role, content, ...extra },
      role === "user" ? "ana" : "agent",
    );
  }

  call(tool: string, given: object, output: string, ok = true): this {
    const call = `call_${this.events.length}`;
    this.add({ kind: "tool_called", call, tool, arguments: JSON.stringify(given) }, "agent");
    return this.add({ kind: "tool_returned", call, tool, ok, output }, tool);
  }

  step(inside: (log: this) => void, metrics: Record<string, number> = {}, bad = false): this {
    const step = (this.#step += 1);
    this.add({ kind: "step_started", step });
    inside(this);
    this.add({ kind: "step_finished", step, metrics });
    return this.add({
      kind: "checkpoint_marked",
      cause: "step",
      status: bad ? "failure" : "success",
      label: `step-${step}`,
      metadata: { step },
    });
  }
}

function lane(id: number, fields: Partial<Lane> & { events: Stored[] }): Lane {
  return {
    id,
    type: id === 0 ? "root" : "branch",
    description: null,
    parent: id === 0 ? null : 0,
    fork: 0,
    outcome: {},
    ...fields,
  };
}

const BOOKS = ["The Slow River", "Maps of Rain", "A Field of Clocks", "Notes on Salt"];
const record = (title: string, days: number) =>
  JSON.stringify({ title, shelf: `B${days}`, copies: 3, due: `2026-02-${10 + days}`, notes: [] });

function loans(log: Writer, order: readonly string[], renewsBoth: boolean): Writer {
  log.step((l) => l.say("assistant", "I can renew both loans. What is your card number?"));
  log.say("user", "It is 4471-B. Please renew both.");
  order.forEach((title, i) => {
    log.step((l) => l.call("find_loan", { title, card: "4471-B" }, record(title, i + 1)));
  });
  log.step((l) =>
    l.say(
      "assistant",
      "Both loans are due next week.\n\n" +
        '```json\n{"renew": ["The Slow River", "Maps of Rain"]}\n```\n' +
        "Shall I renew them for **three weeks**?",
      { usage: { input: 812, output: 64, model: "tiny-1" } },
    ),
  );
  log.say("user", "Yes, both of them.");
  log.step((l) => l.call("renew_loan", { title: order[0], weeks: 3 }, record(order[0]!, 21)));
  if (renewsBoth) {
    log.step((l) => l.call("renew_loan", { title: order[1], weeks: 3 }, record(order[1]!, 21)));
  }
  log.step((l) => l.call("send_receipt", { card: "4471-B", by: "mail" }, "sent"));
  const said = renewsBoth ? "Both loans are renewed." : "Your loan is renewed.";
  return log.step((l) => l.say("assistant", said), {}, !renewsBoth);
}

/** An agent with four lineages, of which the third misses a call. */
export function agent(): Task {
  const base = new Writer()
    .add({ kind: "lineage_opened", lineage_type: "root" })
    .say("system", "# Desk of a library\n\nRenew loans when the reader asks for it.").events;
  const make = (id: number, order: readonly string[], both: boolean): Lane => {
    const log = new Writer(base);
    if (id > 0)
      log.add({ kind: "lineage_opened", lineage_type: "branch", description: `trial ${id}` });
    log.say("user", "I want to renew The Slow River and Maps of Rain.");
    loans(log, order, both);
    const value = both ? 1 : 0;
    return lane(id, {
      events: log.events,
      fork: id === 0 ? 0 : 2,
      description: id === 0 ? null : `trial ${id}`,
      outcome: { status: both ? "success" : "failure", value, good: both },
    });
  };
  const [first, second] = [BOOKS[0]!, BOOKS[1]!];
  return {
    id: "library-34",
    user: "ana",
    control: "idle",
    active: 2,
    created_us: START,
    lanes: [
      make(0, [first, second], true),
      make(1, [second, first], true),
      make(2, [first, second], false),
      make(3, [first, second], true),
    ],
  };
}

/** An optimizer with 50 lineages. One of them has a spike in one step. */
export function optimizer(): Task {
  const lanes: Lane[] = [];
  for (let id = 0; id < 50; id++) {
    const log = new Writer([], 1_000_000);
    log.add({ kind: "lineage_opened", lineage_type: id === 0 ? "root" : "branch" });
    for (let step = 1; step <= 120; step++) {
      const spike = id === 7 && step === 77 ? 900 : 0;
      const loss = 40 / (1 + step / (8 + id)) + Math.sin(step * (id + 1)) * 0.4 + spike;
      log.step(() => {}, { loss, step_size: 0.2 * 0.97 ** step });
    }
    lanes.push(
      lane(id, {
        events: log.events,
        description: id === 0 ? null : `start ${id}`,
        outcome: { status: "success" },
      }),
    );
  }
  return { id: "tune-river", user: "ana", control: "idle", active: 0, created_us: START, lanes };
}

const SCRIPT = '<script>globalThis.__ran=1</script><img src=x onerror="globalThis.__ran=1">';

/** Texts that try to run, to hide, or to break the layout. */
export function hostile(): Task {
  const deep = `${"[".repeat(100)}1${"]".repeat(100)}`;
  const log = new Writer()
    .add({ kind: "lineage_opened", lineage_type: "root", description: SCRIPT })
    .say("user", `${SCRIPT} \u001b[31mred\u001b[0m \u0007bell \u202egnp.exe \u200bhidden`)
    .step((l) => l.say("assistant", `javascript:alert(1) ${SCRIPT}`))
    .step((l) =>
      l.call(`rm ${SCRIPT}`, { command: SCRIPT }, `\u001b[1;32mok\u001b[0m ${SCRIPT}`, false),
    )
    .step((l) => l.call("deep", { json: JSON.parse(deep) }, deep))
    .step((l) => l.call("large", { bytes: 200_000 }, "0123456789abcdef\n".repeat(12_000)))
    .add({ kind: "application", name: SCRIPT, data: { [SCRIPT]: SCRIPT, __proto__: null } })
    .add({ kind: "unknown", payload: "3q2+7w==" });
  log.events.push({ body: null, kind: "message", time_us: START + 9_000_000 });
  return {
    id: `hostile-${"x".repeat(170)}<b>`,
    user: "mallory",
    control: "stopped",
    active: 0,
    created_us: START,
    lanes: [lane(0, { events: log.events, outcome: { value: SCRIPT } })],
  };
}

export function chinese(): Task {
  const log = new Writer()
    .add({ kind: "lineage_opened", lineage_type: "root" })
    .say("user", "请把这首诗改得更短一些。")
    .step((l) => l.say("assistant", "好的,我先读一遍原文。", { usage: { input: 120, output: 18 } }))
    .step((l) => l.call("读取文件", { 路径: "诗/春雨.md" }, "好雨知时节,当春乃发生。"))
    .step((l) => l.call("写入文件", { 路径: "诗/春雨.md" }, "磁盘已满", false), { 得分: 0.4 }, true)
    .step((l) => l.say("assistant", "写入失败:磁盘已满。"), { 得分: 0.2 });
  return {
    id: "春雨",
    user: "李",
    control: "paused",
    active: 0,
    created_us: START,
    lanes: [lane(0, { events: log.events, outcome: { status: "failure", good: false } })],
  };
}

/** A task that runs: the tests append to it. */
export function running(): Task {
  const log = new Writer().add({ kind: "lineage_opened", lineage_type: "root" });
  log.say("user", "Count the stones.");
  for (let i = 0; i < 30; i++) log.step((l) => l.call("count", { heap: i }, `${i * 3} stones`));
  return {
    id: "stones",
    user: "ana",
    control: "running",
    active: 0,
    created_us: START,
    lanes: [lane(0, { events: log.events })],
  };
}

/** Three prompts to an agent, of which the second takes 300 turns. No store has it at first. */
export function session(): Task {
  const log = new Writer().add({ kind: "lineage_opened", lineage_type: "root" });
  for (const turns of [2, 300, 1]) {
    log.say("user", `Sort ${turns} shelves.`);
    log.step((l) => {
      for (let i = 0; i < turns; i++) {
        l.say("assistant", `Shelf ${i} of ${turns}.`).call("sort", { shelf: i }, `sorted ${i}`);
      }
    });
  }
  return {
    id: "shelves",
    user: "ana",
    control: "running",
    active: 0,
    created_us: START,
    lanes: [lane(0, { events: log.events })],
  };
}

export function nothing(): Task {
  return {
    id: "empty",
    user: "ana",
    control: "idle",
    active: 0,
    created_us: START,
    lanes: [lane(0, { events: [] })],
  };
}

/** Small tasks, so that the table is long. */
export function many(count: number): Task[] {
  return Array.from({ length: count }, (_, i) => {
    const log = new Writer([], 1000).add({ kind: "lineage_opened", lineage_type: "root" });
    const failed = i % 17 === 3;
    log.say("user", `Renew loan ${i}`);
    log.step((l) => l.call("renew_loan", { loan: i }, failed ? "no such loan" : "ok", !failed));
    return {
      id: `loan-${String(i).padStart(5, "0")}`,
      user: i % 2 ? "ana" : "ben",
      control: "idle",
      active: 0,
      created_us: START - i * 1_000_000,
      lanes: [
        lane(0, {
          events: log.events,
          outcome: failed ? { value: 0, good: false } : { value: 1, good: true },
        }),
      ],
    };
  });
}
