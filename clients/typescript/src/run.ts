// A run that resumes after a kill: steps, and work that is done once. Records the same events as
// `Run` of the Rust crate `milepost-runtime`, so that either resumes a run of the other.

import { fromBase64, toBase64 } from "./bytes.js";
import type { Appended, AppendOptions, Client, NewEvent, Task } from "./client.js";
import type { Checkpoint } from "./checkpointService.js";
import { addressOf, answer, defined, found, MilepostError, once, repeated } from "./http.js";
import type { Big } from "./http.js";
import type { components } from "./schema.js";

type Attachment = components["schemas"]["AttachmentForm"];
type Control = components["schemas"]["ControlForm"];

/** The application event that holds a result, and the prefix of its idempotency key. */
const NAME = "milepost.once";
const PREFIX = "once/";

/** The writer of the attachment with which Python's `Task.once` records a result. */
const PYTHON = "once";

/** The options of `resume`. */
export interface RunOptions {
  /** The owner of a task that is started: the user of the token by default. For admins. */
  user?: string | undefined;
  /** The initial state of a task that is started. */
  initial?: Record<string, unknown> | undefined;
  /** `false` leaves the run as it is: by default it begins unless it is running or paused. */
  begin?: boolean | undefined;
}

/** A step that is being worked on. */
export interface Step {
  /** Its number, from 1: the one after the last step that ended well. */
  readonly number: number;
  /** Measured values, recorded with the end of the step. */
  readonly metrics: Record<string, number>;
}

/** A task whose events this program writes. `Client.resume` opens one. */
export class Run {
  /** The id of the task. */
  readonly task: string;
  readonly #client: Client;
  /** The results of the active lineage, by their keys. */
  #recorded = new Map<string, unknown>();
  /** Where the results were read to. */
  #next: Big = 0;
  /** The activation that they were read from. A restore, an undo and a switch make another one. */
  #epoch: Big | undefined;
  /** The calls of `once` under way, by their keys. */
  readonly #busy = new Map<string, Promise<unknown>>();

  private constructor(client: Client, task: string) {
    this.#client = client;
    this.task = task;
  }

  /** Opens a run: `Client.resume`. */
  static async resumed(client: Client, task: string, options: RunOptions): Promise<Run> {
    const { user, initial, begin = true } = options;
    if ((await found(client.task(task))) === undefined) {
      try {
        await client.start(task, defined({ user, initial }));
      } catch (error) {
        // Another program was first. If the task is not visible, the next request says so.
        if (!(error instanceof MilepostError && error.status === 409)) {
          throw error;
        }
      }
    }
    const run = new Run(client, task);
    await run.#read();
    if (begin) {
      await run.#begin();
    }
    return run;
  }

  /** Appends events, as `Client.append`. */
  append(events: NewEvent | readonly NewEvent[], options?: AppendOptions): Promise<Appended> {
    return this.#client.append(this.task, events, options);
  }

  /** Marks a checkpoint at the head, as `Client.checkpoint`. */
  checkpoint(label?: string): Promise<Checkpoint> {
    return this.#client.checkpoint(this.task, label);
  }

  /** Returns the state at the head, or the part of it at a JSON pointer. */
  async state(pointer?: string): Promise<unknown> {
    const options = pointer === undefined ? {} : { pointer };
    return this.#client.state(addressOf(this.task), options);
  }

  /** Returns the control of the run: `idle`, `running`, `paused` or `stopped`. */
  async control(): Promise<string> {
    return String(await this.state("/control"));
  }

  /** Ends the run. `resume` begins it again. */
  async end(): Promise<void> {
    await this.#change("idle");
  }

  /**
   * Does work once: a result that is recorded under the key, on the active lineage, is returned
   * without doing the work. Otherwise the result is recorded before it is returned, as what JSON
   * keeps of it; a `Uint8Array` is recorded as its bytes. Calls with the same key wait for each
   * other. Failed work is not recorded.
   *
   * A kill between the work and the record leaves the work to be done again: to prevent repeated
   * effects, pass the key to the external system, too. After a restore to an earlier point the work
   * is done again.
   */
  async once<Result>(key: string, work: () => Result | Promise<Result>): Promise<Result> {
    const before = this.#busy.get(key) ?? Promise.resolve();
    const result = before.then(
      () => this.#once(key, work),
      () => this.#once(key, work),
    );
    this.#busy.set(key, result);
    try {
      return (await result) as Result;
    } finally {
      if (this.#busy.get(key) === result) {
        this.#busy.delete(key);
      }
    }
  }

  /**
   * Does the next step: records its beginning and its end. If the work fails, the failure is
   * recorded and thrown, and the next run does the step again. The service marks a checkpoint at
   * the end by its policy.
   */
  async step<Result>(work: (step: Step) => Result | Promise<Result>): Promise<Result> {
    const number = await this.nextStep();
    await this.append({ kind: "step_started", body: { step: number } });
    const { epoch } = await this.#client.task(this.task);
    const step: Step = { number, metrics: {} };
    let result: Result;
    try {
      result = await work(step);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      // The error of the step counts, whether it can be recorded or not.
      await this.#ended(epoch, { kind: "step_failed", body: { step: number, error: text } }).catch(
        () => undefined,
      );
      throw error;
    }
    await this.#ended(epoch, {
      kind: "step_finished",
      body: { step: number, ...(Object.keys(step.metrics).length > 0 && { metrics: step.metrics }) },
    });
    return result;
  }

  /** Returns the number of the next step: after the last one that ended well, from 1. */
  async nextStep(): Promise<number> {
    const last = (await this.state("/step")) as { number: number; status: string } | null;
    if (last === null) {
      return 1;
    }
    return last.status === "finished" ? last.number + 1 : last.number;
  }

  async #ended(epoch: Big, event: NewEvent): Promise<void> {
    if ((await this.#client.task(this.task)).epoch !== epoch) {
      throw new MilepostError({
        status: 409,
        title: "The run was restored",
        detail: `\`${this.task}\` was restored while a step ran, and the step is abandoned: begin the next one`,
      });
    }
    await this.append(event);
  }

  async #once(key: string, work: () => unknown): Promise<unknown> {
    const stored = `${PREFIX}${key}`;
    await this.#read();
    if (this.#recorded.has(stored)) {
      return this.#recorded.get(stored);
    }
    const alias = `once:${key}`;
    const ofPython = (await this.#attached(alias)).find(({ writer }) => writer === PYTHON);
    if (ofPython !== undefined) {
      return ofPython.data;
    }
    const data = dataOf(await work());
    try {
      await this.append({ kind: "application", body: { name: NAME, data }, key: stored });
    } catch (error) {
      if (!(error instanceof MilepostError && error.status === 409)) {
        throw error;
      }
      // Another program did the work at the same time: its result counts, if it is one.
      await this.#read();
      if (!this.#recorded.has(stored)) {
        throw error;
      }
      return this.#recorded.get(stored);
    }
    await this.#attach(alias, { writer: NAME, index: -1, name: key, data });
    return resultOf(data);
  }

  /** Reads the results that were recorded since. */
  async #read(): Promise<void> {
    const task: Task = await this.#client.task(this.task);
    if (task.epoch !== this.#epoch) {
      this.#epoch = task.epoch;
      this.#recorded.clear();
      this.#next = 0;
    }
    if (BigInt(this.#next) >= BigInt(task.head)) {
      return;
    }
    for await (const { key, body } of this.#client.events(this.task, {
      from: this.#next,
      to: task.head,
      lineage: task.active,
      kinds: ["application"],
    })) {
      if (key?.startsWith(PREFIX) && body?.["name"] === NAME) {
        this.#recorded.set(key, resultOf(body["data"]));
      }
    }
    this.#next = task.head;
  }

  /** Python's `once` looks for attachments: it finds this one, and of several the last. */
  async #attach(alias: string, attachment: Attachment): Promise<void> {
    const params = { path: { task: this.task } };
    const body = { alias, attachments: [attachment] };
    await repeated(() =>
      answer(this.#client.http.POST("/v1/tasks/{task}/attachments", { params, body })),
    );
  }

  async #attached(alias: string): Promise<Attachment[]> {
    const params = { path: { task: this.task }, query: { alias } };
    const listed = this.#client.http.GET("/v1/tasks/{task}/attachments", { params });
    return (await answer(listed)).items;
  }

  async #begin(): Promise<void> {
    const isOver = async () => ["idle", "stopped"].includes(await this.control());
    if (!(await isOver())) {
      return;
    }
    try {
      await this.#change("running");
    } catch (error) {
      // Another program may have begun it at the same time.
      if (!(error instanceof MilepostError && error.status === 409) || (await isOver())) {
        throw error;
      }
    }
  }

  async #change(to: "running" | "idle"): Promise<Control> {
    const path = { task: this.task };
    return once({}, (header) =>
      answer(
        this.#client.http.POST("/v1/tasks/{task}/control", { params: { path, header }, body: { to } }),
      ),
    );
  }
}

function isBytes(data: unknown): data is { base64: string } {
  return (
    typeof data === "object" &&
    data !== null &&
    Object.keys(data).length === 1 &&
    typeof (data as { base64?: unknown }).base64 === "string"
  );
}

/** Returns the form of a result in an event: what JSON keeps of it, or its bytes. */
function dataOf(result: unknown): unknown {
  if (result instanceof Uint8Array) {
    return { base64: toBase64(result) };
  }
  return JSON.parse(JSON.stringify(result) ?? "null");
}

/** Returns the result that an event has. */
function resultOf(data: unknown): unknown {
  if (isBytes(data)) {
    return fromBase64(data.base64);
  }
  return data;
}
