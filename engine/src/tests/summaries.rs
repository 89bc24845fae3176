//! Summaries that are kept in the index, next to summaries of all events.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;

use milepost_reading::Summary;
use proptest::prelude::*;

use crate::calls::Cancel;
use crate::events::{Application, Float, MarkStatus, Message, StepFailed, StepFinished};
use crate::query::TaskQuery;
use crate::reading::LineageSummary;
use crate::retention::Policy;
use crate::{Body, Engine, Mark, Options, Result, Task};

/// An operation on a task.
#[derive(Debug, Clone)]
enum Op {
    Append(Vec<Body>),
    Mark,
    /// A restore to a point in the history, by its share.
    Restore(f64),
    Branch(f64),
    Erase(f64),
    CleanUp,
    Compact,
    Look,
}

fn body() -> impl Strategy<Value = Body> {
    let answer = |(id, input): (String, u64)| {
        let usage = serde_json::json!({"id": id, "usage": {"input_tokens": input}});
        Application::new("answer", &usage).unwrap().into()
    };
    prop_oneof![
        "[a-z]{0,6}".prop_map(|text| Message::text("user", &text).into()),
        (1_u64..5, 0..9).prop_map(|(step, loss)| {
            let metrics = [("loss".to_owned(), Float(f64::from(loss)))].into();
            StepFinished { step, metrics, ..StepFinished::default() }.into()
        }),
        (1_u64..5).prop_map(|step| { StepFailed { step, error: "it failed".into() }.into() }),
        ("[a-c]", 0_u64..100).prop_map(answer),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => proptest::collection::vec(body(), 1..5).prop_map(Op::Append),
        2 => Just(Op::Mark),
        2 => (0.0..1.0).prop_map(Op::Restore),
        1 => (0.0..1.0).prop_map(Op::Branch),
        1 => (0.0..1.0).prop_map(Op::Erase),
        1 => Just(Op::CleanUp),
        1 => Just(Op::Compact),
        3 => Just(Op::Look),
    ]
}

/// Returns the summaries of the only task.
fn summaries(engine: &Engine) -> Vec<LineageSummary> {
    let mut page = engine.query().summaries(&TaskQuery::default()).unwrap();
    page.items.pop().unwrap().lineages
}

/// Compares the summaries with ones of all events.
fn check(engine: &Engine, task: &Task) -> Result<()> {
    for found in summaries(engine) {
        let lineage = task.lineage_named(found.lineage)?;
        let mut expected = Summary::default();
        for event in lineage.read(0..)? {
            expected.add(&event?);
        }
        let of = |summary: &Summary| {
            let counts = (summary.steps, summary.calls, summary.failed, summary.step);
            let texts = (summary.title.clone(), summary.last_error.clone());
            let usage = summary.usage();
            (counts, texts, summary.metrics.clone(), summary.status, summary.changed_us, usage)
        };
        assert_eq!(of(&found.summary), of(&expected), "{:?}", found.lineage);
        assert_eq!(found.head, lineage.head()?.next);
    }
    Ok(())
}

/// Checks that a version has one summary.
fn check_version(engine: &Engine, seen: &mut HashMap<u64, String>) -> Result<()> {
    let task = engine.query().task_versions()?.pop().unwrap();
    assert_eq!((task.id.as_str(), task.user.as_str()), ("essay", "ana"));
    let summary = format!("{:?}", engine.query().summary_of(task.no)?);
    let first = seen.entry(task.version).or_insert_with(|| summary.clone());
    assert_eq!(*first, summary);
    Ok(())
}

fn run(engine: &Engine, ops: &[Op]) -> Result<()> {
    let mut task = engine.start_task("essay", "ana")?;
    let mut seen = HashMap::new();
    for op in ops {
        let begin = task.lineage().info()?.begin;
        let (head, at) = (task.head()?.next, |share: f64, head: u64| {
            begin + ((head - begin) as f64 * share) as u64
        });
        match op {
            Op::Append(bodies) => _ = task.append(crate::Append::batch(bodies.clone()))?,
            Op::Mark => _ = task.checkpoint(Mark::new().status(MarkStatus::Failure))?,
            Op::Restore(share) => {
                task = engine.restore(&task.point(at(*share, head))?).run()?;
            }
            Op::Branch(share) => _ = engine.branch(&task.point(at(*share, head))?).run()?,
            Op::Erase(share) if head > begin => {
                // Some events cannot be erased.
                let _ = engine.retention().erase(&task.point(at(*share, head - 1))?, None);
            }
            Op::Erase(_) => {}
            Op::CleanUp => {
                _ = engine.retention().retain(&Policy::new().keep(1).keep_lineages(false))?;
            }
            Op::Compact => _ = engine.retention().compact(&mut |_| {})?,
            Op::Look => check(engine, &task)?,
        }
        check_version(engine, &mut seen)?;
    }
    check(engine, &task)
}

fn title(engine: &Engine) -> Option<String> {
    summaries(engine).pop().unwrap().summary.title
}

#[test]
fn a_second_look_reads_no_event() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(Message::text("user", "write")).unwrap();
    let fork = task.point(1).unwrap();
    engine.branch(&fork).run().unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = engine.with_cancel(&cancel);
    let look = || cancelled.query().summaries(&TaskQuery::default());
    look().unwrap_err();
    let first = summaries(&engine);
    assert_eq!(look().unwrap().items.pop().unwrap().lineages, first);
    task.append(Message::text("user", "again")).unwrap();
    look().unwrap_err();
}

#[test]
fn an_erased_event_is_in_no_summary() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(Message::text("user", "my secret")).unwrap();
    task.append(Message::text("user", "write")).unwrap();
    assert_eq!(title(&engine).as_deref(), Some("my secret"));
    engine.retention().erase(&task.point(1).unwrap(), None).unwrap();
    assert_eq!(title(&engine).as_deref(), Some("write"));
}

#[test]
fn a_version_changes_with_each_commit_to_its_task_and_with_no_other() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let other = engine.start_task("other", "ana").unwrap();
    let of = |id: &str| {
        let mut all = engine.query().task_versions().unwrap().into_iter();
        all.find(|task| task.id == id).map(|task| task.version)
    };
    let mut seen = vec![of("essay")];
    let unchanged = of("other");
    let mut is_new = |what: &str| {
        let now = of("essay");
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    task.append(Message::text("user", "my secret")).unwrap();
    is_new("an event");
    engine.retention().erase(&task.point(1).unwrap(), None).unwrap();
    is_new("an erasure");
    task.checkpoint(Mark::new().status(MarkStatus::Failure)).unwrap();
    is_new("a mark");
    engine.branch(&task.point(1).unwrap()).run().unwrap();
    is_new("a branch");
    engine.restore(&task.point(2).unwrap()).run().unwrap();
    is_new("a restore");
    engine.undo("essay").run().unwrap();
    is_new("an undo");
    assert_eq!(of("other"), unchanged);
    engine.retention().delete_task("other").unwrap();
    assert_eq!(of("other"), None);
    assert_eq!(engine.query().summary_of(other.no()).unwrap(), None);
}

#[test]
fn the_usage_of_a_task_counts_each_event_once() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let answer = |input: u64| {
        Application::new("answer", &serde_json::json!({"usage": {"input_tokens": input}})).unwrap()
    };
    task.append(answer(100)).unwrap();
    let fork = task.point(task.head().unwrap().next).unwrap();
    task.append(answer(20)).unwrap();
    let restored = engine.restore(&fork).run().unwrap();
    restored.append(answer(3)).unwrap();
    let found = engine.query().summary("essay").unwrap();
    let tokens = |usage: Option<crate::reading::Usage>| usage.unwrap().tokens();
    assert_eq!(tokens(found.usage()), Some(123));
    assert_eq!(tokens(found.active().unwrap().summary.usage()), Some(103));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn kept_summaries_equal_those_of_all_events(
        ops in proptest::collection::vec(op(), 1..30),
    ) {
        let engine = Engine::in_memory(Options::default()).unwrap();
        run(&engine, &ops).unwrap();
    }
}
