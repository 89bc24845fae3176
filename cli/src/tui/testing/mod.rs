//! Answers of a store, made for tests.

use milepost::events::{Float, MarkStatus};
use milepost::{Hash, LineageId};
use milepost_api::{
    AlignCountsForm, AlignOp, AlignedForm, AlignmentForm, Big, LineageForm, MetricForm,
    OverviewBucketForm, OverviewForm, ReadMarkForm, RowForm, SeriesBucketForm, SeriesForm,
    SummaryForm, TaskForm, TurnCallForm, TurnForm, TurnsForm,
};

use super::task::TaskView;

/// The time of the tests, and the time of a task's last event.
pub const NOW_US: u64 = 1_800_000_060_000_000;
pub const CHANGED_US: u64 = 1_800_000_000_000_000;

pub fn summary(id: &str, steps: u64, failed: u64) -> SummaryForm {
    let outcome = |good: bool| {
        serde_json::json!({
            "status": if good { "success" } else { "failure" },
            "value": u8::from(good),
            "good": good,
        })
    };
    let lineage = |id: u64, good: bool, head: u64| {
        serde_json::json!({
            "id": id, "head": head.to_string(), "outcome": outcome(good), "steps": "1",
            "calls": "1", "failed": "0", "parent": id.checked_sub(1), "fork": "2",
        })
    };
    let form = serde_json::json!({
        "id": id, "user": "ana", "created": "2027-01-15T08:00:00Z",
        "created_us": CHANGED_US.to_string(), "active": 1, "head": "90", "events": "120",
        "title": "sort the files 日本語", "changed": "2027-01-15T08:00:00Z",
        "changed_us": CHANGED_US.to_string(), "control": "running", "step": "3",
        "steps": steps.to_string(), "calls": "4", "failed": failed.to_string(),
        "last_error": (failed > 0).then_some("no such file"), "metrics": {},
        "usage": {"input": "1200", "output": "34"}, "older_lineages": 0,
        "lineages": [lineage(0, true, 60), lineage(1, failed == 0, 90)],
    });
    let mut form: SummaryForm = serde_json::from_value(form).unwrap();
    let (last, min, max) = (Float(0.25), Float(0.25), Float(0.75));
    form.metrics.insert("loss".into(), MetricForm { last, min, max });
    form
}

pub fn task(id: &str, head: u64) -> TaskForm {
    TaskForm {
        id: id.to_owned(),
        user: "ana".into(),
        created: "2027-01-15T08:00:00Z".into(),
        created_us: Big(CHANGED_US),
        lineages: 2,
        active: LineageId(0),
        epoch: Big(1),
        head: Big(head),
        events: Big(head),
    }
}

pub fn lineage(id: u32, parent: Option<(u32, u64)>, head: u64) -> LineageForm {
    let parent = parent.map(|(lineage, offset)| {
        serde_json::json!({
            "lineage": lineage, "offset": offset.to_string(), "hash": Hash([0; 32]).to_string(),
        })
    });
    let form = serde_json::json!({
        "id": id, "type": if parent.is_some() { "restore" } else { "root" },
        "description": parent.as_ref().map(|_| "again"), "parent": parent,
        "opened": "2027-01-15T08:00:00Z", "opened_us": "0", "head": head.to_string(),
        "hash": Hash([0; 32]).to_string(), "begin": "0", "events": head.to_string(),
        "active": id == 0,
    });
    serde_json::from_value(form).unwrap()
}

/// An open task with a lineage of this many events.
pub fn view(id: &str, head: u64) -> TaskView {
    let lineages = vec![lineage(0, None, head), lineage(1, Some((0, head / 2)), head * 3 / 4)];
    TaskView::new(task(id, head), lineages, LineageId(0), head)
}

/// An overview with a failure and a mark in each bucket that begins at one of these offsets.
pub fn overview(head: u64, width: u64, failed: &[u64]) -> OverviewForm {
    let bucket = |from: u64| {
        let count = u64::from(failed.contains(&from));
        OverviewBucketForm {
            from: Big(from),
            events: Big(width),
            steps: Big(1),
            calls: Big(1),
            failed: Big(count),
            marks: Big(count),
            usage: None,
            time_us: Big(CHANGED_US),
        }
    };
    OverviewForm {
        width: Big(width),
        buckets: (0..head.div_ceil(width)).map(|at| bucket(at * width)).collect(),
        turns: Big(head / 3),
        read: Big(head),
        head: Big(head),
    }
}

/// A turn of three events. Each fifth failed, each seventh is marked.
pub fn turn(number: u64, first: u64) -> TurnForm {
    let failed = number % 5 == 4;
    let call = TurnCallForm {
        call: format!("c{number}"),
        tool: "ls".into(),
        arguments: format!("src{number}"),
        ok: Some(!failed),
        result: Some(format!("{number} files")),
        took_us: Some(Big(1200)),
        at: Big(first + 1),
    };
    let mark = (number % 7 == 6).then(|| ReadMarkForm {
        id: None,
        label: Some(format!("good-{number}")),
        status: MarkStatus::Success,
        at: Big(first + 2),
    });
    TurnForm {
        number: Big(number),
        step: Some(Big(number + 1)),
        name: Some("look".into()),
        turn: Big(0),
        first: Big(first),
        next: Big(first + 3),
        time_us: Big(CHANGED_US),
        took_us: Some(Big(1_500_000)),
        said: Some(format!("I look at {number}.")),
        calls: vec![call],
        more_calls: None,
        heard: None,
        failed: failed.then(|| "no such file: 日本語.md".to_owned()),
        usage: None,
        metrics: [("loss".to_owned(), Float(0.5))].into(),
        mark,
    }
}

pub fn turns(from: u64, count: u64, total: u64) -> TurnsForm {
    let last = (from + count).min(total);
    TurnsForm {
        items: (from..last).map(|number| turn(number, number * 3)).collect(),
        next: Some(Big(last)).filter(|_| last < total),
        total: Big(total),
        read: Big(total * 3),
        head: Big(total * 3),
    }
}

/// Turns of steps of several turns each.
pub fn turns_of_steps(from: u64, count: u64, total: u64, each: u64) -> TurnsForm {
    let mut page = turns(from, count, total);
    for turn in &mut page.items {
        let number = turn.number.0;
        (turn.step, turn.turn) = (Some(Big(number / each + 1)), Big(number % each));
    }
    page
}

pub fn row(offset: u64) -> RowForm {
    let (kind, text) = match offset % 3 {
        0 => ("step_started", format!("step {}", offset / 3)),
        1 => ("tool_called", format!("ls src{offset}")),
        _ => ("tool_returned", "no such file: 日本語.md".to_owned()),
    };
    RowForm {
        offset: Big(offset),
        lineage: LineageId(0),
        kind: kind.into(),
        time_us: Big(CHANGED_US),
        actor: None,
        text,
        tool: None,
        call: None,
        ok: (offset % 3 == 2).then_some(offset.is_multiple_of(2)),
        took_us: None,
        usage: None,
        mark: None,
        erased: false,
    }
}

pub fn alignment(ops: &[AlignOp]) -> AlignmentForm {
    let mut counts = AlignCountsForm::default();
    let mut items = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let one = |is_there: bool| is_there.then(|| turn(at as u64, at as u64 * 2));
        let (count, a, b) = match op {
            AlignOp::Same => (&mut counts.same, true, true),
            AlignOp::Said => (&mut counts.said, true, true),
            AlignOp::Changed => (&mut counts.changed, true, true),
            AlignOp::OnlyA => (&mut counts.only_a, true, false),
            AlignOp::OnlyB => (&mut counts.only_b, false, true),
            AlignOp::Moved => (&mut counts.moved, true, false),
        };
        count.0 += 1;
        items.push(AlignedForm { op: *op, a: one(a), b: one(b), other: None });
    }
    let common = ops.iter().take_while(|op| **op == AlignOp::Same).count() as u64;
    AlignmentForm { common: Big(common), counts, items, next: None }
}

/// A series with the least and the greatest value of each bucket.
pub fn series(address: &str, values: &[(f64, f64)]) -> SeriesForm {
    let bucket = |(at, (min, max)): (usize, &(f64, f64))| SeriesBucketForm {
        x: Big(at as u64),
        first: Float(*min),
        last: Float(*min),
        min: Float(*min),
        max: Float(*max),
        count: Big(2),
        at: Big(at as u64 * 3),
        last_at: Big(at as u64 * 3 + 1),
        min_at: Big(at as u64 * 3),
        max_at: Big(at as u64 * 3 + 1),
    };
    SeriesForm {
        address: address.to_owned(),
        buckets: values.iter().enumerate().map(bucket).collect(),
        read: Big(9),
        head: Big(9),
    }
}
