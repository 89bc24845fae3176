// A list of checkpoints for React: what each is, and a restore after a question with its plan.

import { createElement as h, useState } from "react";
import type { ReactElement } from "react";
import { useCheckpoints, useRestore, useRestorePlan } from "./useCheckpoints.js";
import type { ListedCheckpoint } from "./useCheckpoints.js";

/** The texts of a list. */
export interface CheckpointListTexts {
  restore: string;
  confirm: string;
  cancel: string;
  older: string;
  none: string;
  leftBehind: string;
  /** The number of values of the state that a restore changes. */
  changes: (values: number) => string;
}

const TEXTS: CheckpointListTexts = {
  restore: "Restore",
  confirm: "Restore now",
  cancel: "Cancel",
  older: "Older checkpoints",
  none: "No checkpoints found.",
  leftBehind: "left behind",
  changes: (values) => `${values} ${values === 1 ? "value changes" : "values change"}`,
};

/** Properties of a list. */
export interface CheckpointListProps {
  task: string;
  /** Checkpoints of a page. */
  limit?: number;
  /** Texts in place of the English ones. */
  texts?: Partial<CheckpointListTexts>;
  /** Returns what a row shows. By default: the label or the id, time, status. */
  row?: (checkpoint: ListedCheckpoint) => ReactElement | string;
  /** Called after a restore. */
  onRestored?: (checkpoint: ListedCheckpoint) => void;
}

/**
 * Lists the checkpoints of a task, newest first, below a `CheckpointServiceProvider`. A restore asks
 * first, with the number of values that its plan changes. It has no style: the elements
 * have classes that begin with `milepost-`.
 */
export function CheckpointList(props: CheckpointListProps): ReactElement {
  const texts = { ...TEXTS, ...props.texts };
  const list = useCheckpoints(props.task, props.limit === undefined ? {} : { limit: props.limit });
  const restore = useRestore(props.task);
  const [asked, setAsked] = useState<ListedCheckpoint>();
  const to = asked && `@${asked.id}`;
  const plan = useRestorePlan(to === undefined ? undefined : { to });
  const error = list.error ?? plan.error ?? restore.error;
  const confirm = () => {
    if (asked === undefined || to === undefined) return;
    restore.mutate(
      { to },
      {
        onSuccess: () => {
          setAsked(undefined);
          props.onRestored?.(asked);
        },
      },
    );
  };
  const question = () =>
    h(
      "span",
      { className: "milepost-question" },
      plan.data ? ` ${texts.changes(plan.data.changes.length)} ` : " … ",
      h(
        "button",
        { type: "button", disabled: !plan.data || restore.isPending, onClick: confirm },
        texts.confirm,
      ),
      h("button", { type: "button", onClick: () => setAsked(undefined) }, texts.cancel),
    );
  const row = (one: ListedCheckpoint) =>
    h(
      "li",
      { key: one.id, className: one.current ? "milepost-current" : "milepost-left" },
      h("span", { className: "milepost-row" }, props.row?.(one) ?? text(one, texts)),
      asked?.id === one.id
        ? question()
        : h("button", { type: "button", onClick: () => setAsked(one) }, texts.restore),
    );
  return h(
    "div",
    { className: "milepost-checkpoints", "aria-busy": list.isFetching || restore.isPending },
    error ? h("p", { role: "alert" }, error.message) : null,
    list.data?.length === 0 ? h("p", null, texts.none) : null,
    h("ul", null, list.data?.map(row)),
    list.hasNextPage
      ? h("button", { type: "button", onClick: () => void list.fetchNextPage() }, texts.older)
      : null,
  );
}

function text(one: ListedCheckpoint, texts: CheckpointListTexts): string {
  const name = one.label ?? one.aliases[0] ?? one.id.slice(0, 8);
  const parts = [name, one.time, one.status];
  return [...parts, ...(one.current ? [] : [texts.leftBehind])].join(" · ");
}
