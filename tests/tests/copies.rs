//! Copies of a task inside its store.

use milepost::events::{Attachment, Data, Message};
use milepost::query::{CheckpointOrder, CheckpointQuery};
use milepost::retention::Policy;
use milepost::transfer::ExportItem;
use milepost::{Append, Checkpoint, Engine, Error, ErrorKind, Mark, Options, Task};
use proptest::prelude::*;

/// A step of a run.
#[derive(Debug, Clone)]
enum Step {
    Say(usize),
    Mark(u8),
    Attach(u8, i64),
    Branch(f64),
    Restore(f64),
    Undo,
    Pin(f64),
    Unmark(f64),
    Erase(f64),
    CleanUp(usize, bool),
    TrimBefore(f64),
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![12 => 1..60_usize, 1 => 300_000..300_009_usize];
    prop_oneof![
        5 => size.prop_map(Step::Say),
        5 => (0..5_u8).prop_map(Step::Mark),
        3 => (0..5_u8, -1..2_i64).prop_map(|(alias, index)| Step::Attach(alias, index)),
        1 => (0.0..1.0).prop_map(Step::Branch),
        2 => (0.0..1.0).prop_map(Step::Restore),
        1 => Just(Step::Undo),
        1 => (0.0..1.0).prop_map(Step::Pin),
        1 => (0.0..1.0).prop_map(Step::Unmark),
        1 => (0.0..1.0).prop_map(Step::Erase),
        1 => (0..3_usize, any::<bool>()).prop_map(|(keep, all)| Step::CleanUp(keep, all)),
        1 => (0.0..1.0).prop_map(Step::TrimBefore),
    ]
}

fn share(of: usize, share: f64) -> usize {
    ((of as f64 * share) as usize).min(of.saturating_sub(1))
}

fn checkpoints(engine: &Engine, task: &str) -> Vec<Checkpoint> {
    let query = CheckpointQuery {
        task: Some(task.to_owned()),
        order: CheckpointOrder::Committed,
        limit: Some(1000),
        ..CheckpointQuery::default()
    };
    engine.query().checkpoints(&query).unwrap().items
}

/// Runs a step. One that cannot be done changes nothing.
fn run(engine: &Engine, task: &Task, n: usize, step: &Step) {
    let head = task.head().unwrap().next;
    let begin = task.lineage().info().unwrap().begin;
    let at = |of: f64| task.point(begin + share((head - begin) as usize, of) as u64).unwrap();
    let marked = |of: f64| {
        let all = checkpoints(engine, "t");
        all.get(share(all.len(), of)).map(|checkpoint| checkpoint.id)
    };
    match step {
        Step::Say(size) => {
            let said = Message::text("user", &format!("{n} {}", "x".repeat(*size)));
            task.append(Append::from(said).key(format!("key {n}"))).unwrap();
        }
        Step::Mark(alias) => {
            task.checkpoint(Mark::new().alias(format!("a{alias}"))).unwrap();
        }
        Step::Attach(alias, index) => {
            let data = Data::Bytes(format!("{n}").into_bytes());
            let attachments = vec![Attachment::new("w", *index, data)];
            task.attach(&format!("a{alias}"), attachments).unwrap();
        }
        Step::Branch(of) => drop(engine.branch(&at(*of)).run().unwrap()),
        Step::Restore(of) => drop(engine.restore(&at(*of)).run()),
        Step::Undo => drop(engine.undo("t").run()),
        Step::Pin(of) => {
            let pin = |id| engine.retention().pin(&id, Some("to keep"));
            marked(*of).into_iter().for_each(|id| pin(id).unwrap());
        }
        Step::Unmark(of) => drop(marked(*of).map(|id| engine.retention().unmark(&[id]))),
        Step::Erase(of) => drop(engine.retention().erase(&at(*of), None)),
        Step::CleanUp(keep, all) => {
            let policy = Policy::new().keep(*keep).keep_lineages(*all);
            engine.retention().retain(&policy).unwrap();
        }
        Step::TrimBefore(of) => {
            engine.retention().retain(&Policy::new().trim_before(&at(*of))).unwrap();
        }
    }
}

/// Compares a copy with its original in all but hashes.
fn compare(engine: &Engine, from: &str, to: &str) {
    let (task, copy) = (engine.task(from).unwrap(), engine.task(to).unwrap());
    let (of_task, of_copy) = (task.lineages().unwrap(), copy.lineages().unwrap());
    assert_eq!(of_task.len(), of_copy.len());
    for (a, b) in of_task.iter().zip(&of_copy) {
        let parts = |info: &milepost::query::LineageInfo| {
            let fork = info.parent.map(|parent| (parent.lineage, parent.offset));
            let at = (info.begin, info.head.next);
            (info.id, info.lineage_type, fork, at, info.active, info.opened_us)
        };
        assert_eq!(parts(a), parts(b));
        let events = |task: &Task| {
            let events = task.lineage_named(a.id).unwrap().read(..).unwrap();
            let parts = events.map(|event| {
                let event = event.unwrap();
                (event.header.time_us, event.header.key, event.header.kind, event.body.is_some())
            });
            parts.collect::<Vec<_>>()
        };
        assert_eq!(events(&task), events(&copy));
    }
    let (of_task, of_copy) = (checkpoints(engine, from), checkpoints(engine, to));
    assert_eq!(of_task.len(), of_copy.len());
    for (a, b) in of_task.iter().zip(&of_copy) {
        assert_eq!((a.lineage, a.mark, &a.aliases), (b.lineage, b.mark, &b.aliases));
        assert_ne!(a.id, b.id);
        let state = |id| {
            let point = engine.point(&format!("@{id}")).unwrap();
            engine.run_state(&point).unwrap().messages.len()
        };
        assert_eq!(state(a.id), state(b.id));
    }
    for alias in 0..5 {
        let alias = format!("a{alias}");
        assert_eq!(task.attached(&alias).unwrap(), copy.attached(&alias).unwrap());
    }
    let pins = |task: &str| {
        let pins = engine.retention().pins(task).unwrap().into_iter();
        pins.map(|pin| pin.reason).collect::<Vec<_>>()
    };
    assert_eq!(pins(from), pins(to));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_copy_has_all_of_its_original_and_goes_its_own_way(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let engine = Engine::open(&path, Options::default()).unwrap();
        engine.start_task("t", "ana").unwrap();
        for (n, step) in steps.iter().enumerate() {
            run(&engine, &engine.task("t").unwrap(), n, step);
        }
        let copy = engine.copy_task("t", "copy").unwrap();
        prop_assert_eq!(copy.user(), "ana");
        compare(&engine, "t", "copy");
        engine.close().unwrap();
        let engine = Engine::open(&path, Options::default()).unwrap();
        compare(&engine, "t", "copy");
        let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        prop_assert!(report.is_clean(), "{:?}", report);
        let before = engine.task("t").unwrap().head().unwrap();
        engine.task("copy").unwrap().append(Message::text("user", "more")).unwrap();
        prop_assert_eq!(engine.task("t").unwrap().head().unwrap(), before);
        engine.retention().delete_task("t").unwrap();
        engine.retention().compact(&mut |_| {}).unwrap();
        let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        prop_assert!(report.is_clean(), "{:?}", report);
    }
}

fn essay(engine: &Engine) -> Task {
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(Message::text("user", "hello")).unwrap();
    task
}

#[test]
fn contents_of_a_copy_take_no_space_again() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = essay(&engine);
    let mut random = milepost_tests::seed::Random::new(3);
    let data = Data::Bytes(random.bytes(4 << 20));
    let event = milepost::events::Application { name: "x".into(), data };
    task.append(event).unwrap();
    let bytes = || engine.store().stats().unwrap().disk.packs;
    let before = bytes();
    assert!(before >= 4 << 20);
    engine.copy_task("essay", "copy").unwrap();
    assert_eq!(bytes(), before);
}

#[test]
fn a_copy_is_refused_where_it_would_replace_or_lack_something() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = essay(&engine);
    engine.start_task("other", "bob").unwrap();
    let refused = |from: &str, to: &str| engine.copy_task(from, to).unwrap_err().kind();
    assert_eq!(refused("essay", "other"), ErrorKind::Conflict);
    assert_eq!(refused("essay", "essay"), ErrorKind::Conflict);
    assert_eq!(refused("none", "new"), ErrorKind::NotFound);
    assert_eq!(refused("essay", ""), ErrorKind::Invalid);
    for _ in 0..3 {
        task.append_marked(Message::text("user", "more"), Mark::new()).unwrap();
    }
    let of_ana = engine.as_user("ana");
    assert_eq!(of_ana.copy_task("other", "new").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(of_ana.copy_task("essay", "new").unwrap().user(), "ana");
    assert!(engine.task("").is_err());
}

#[test]
fn a_copy_of_a_trimmed_task_has_its_state_and_its_keys_and_can_be_trimmed_further() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = essay(&engine);
    let keyed = |n: u64| Append::from(Message::text("user", &n.to_string())).key(n.to_string());
    for n in 0..6 {
        task.append_marked(keyed(n), Mark::new()).unwrap();
    }
    engine.retention().retain(&Policy::new().keep(2)).unwrap();
    let copy = engine.copy_task("essay", "copy").unwrap();
    compare(&engine, "essay", "copy");
    assert_eq!(copy.state().unwrap().messages.len(), 7);
    for n in 0..6 {
        let marked = keyed(n).mark(Mark::new());
        let again = copy.append(if n < 4 { keyed(n) } else { marked }).unwrap();
        assert!(again.repeated, "key {n}");
    }
    engine.retention().retain(&Policy::new().keep(1).task("copy")).unwrap();
    engine.retention().delete_task("essay").unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    engine.close().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    assert_eq!(engine.task("copy").unwrap().state().unwrap().messages.len(), 7);
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn a_copy_that_is_repeated_under_its_key_is_made_once() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    essay(&engine);
    engine.start_task("other", "ana").unwrap();
    let under = |key: &str, from: &str| engine.transfer().copy(from, "copy", "ana", Some(key));
    let first = under("k", "essay").unwrap();
    assert_eq!(under("k", "essay").unwrap().no(), first.no());
    assert_eq!(under("l", "essay").unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(under("k", "other").unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_copy_that_a_process_did_not_finish_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let engine = Engine::open(&path, Options::default()).unwrap();
    essay(&engine);
    let mut import = engine.transfer().import();
    let mut export = engine.transfer().export(false).unwrap();
    let copied = export.task("essay", &mut |item| match item {
        ExportItem::Task(task) => import.copy("copy", task),
        ExportItem::Event(event) => import.event(event),
        _ => Ok::<(), Error>(()),
    });
    copied.unwrap();
    assert!(engine.task("copy").is_err());
    // As after a kill: nothing of it is undone.
    std::mem::forget(import);
    drop(export);
    engine.close().unwrap();
    let engine = Engine::open(&path, Options::default()).unwrap();
    assert!(engine.task("copy").is_err());
    engine.copy_task("essay", "copy").unwrap();
    compare(&engine, "essay", "copy");
}
