//! Data attached to checkpoints and a model of it, with everything that removes events.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use milepost_codec::RemovedMark;
use proptest::prelude::*;

use crate::events::{Attachment, Data, Message};
use crate::query::CheckpointQuery;
use crate::retention::Policy;
use crate::transfer::ExportItem;
use crate::{Append, CheckpointId, Engine, ErrorKind, Json, Mark, Options, Task};

/// An operation on the task. Aliases and writers are few, so that they meet.
#[derive(Debug, Clone)]
enum Op {
    Attach(u8, Vec<(u8, i64, usize)>),
    Mark(u8),
    Unmark(f64),
    /// A restore to a point in the history, by its share.
    Restore(f64),
    Switch(f64),
    CleanUp(usize, bool),
    /// Keeps some checkpoints by their ids.
    KeepOnly(Vec<f64>),
    /// Removes the events before a point in the history, by its share.
    TrimBefore(f64),
    Compact,
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    let attachment = (0..2_u8, -2..3_i64, prop_oneof![8 => 0..50_usize, 1 => 9_000..9_050_usize]);
    let attachments = proptest::collection::vec(attachment, 1..4);
    prop_oneof![
        6 => (0..5_u8, attachments).prop_map(|(alias, all)| Op::Attach(alias, all)),
        4 => (0..5_u8).prop_map(Op::Mark),
        1 => (0.0..1.0).prop_map(Op::Unmark),
        2 => (0.0..1.0).prop_map(Op::Restore),
        1 => (0.0..1.0).prop_map(Op::Switch),
        2 => (0..3_usize, any::<bool>()).prop_map(|(keep, lineages)| Op::CleanUp(keep, lineages)),
        2 => proptest::collection::vec(0.0..1.0, 0..3).prop_map(Op::KeepOnly),
        1 => (0.0..1.0).prop_map(Op::TrimBefore),
        1 => Just(Op::Compact),
        1 => Just(Op::Reopen),
    ]
}

/// The data that has to be there, and the checkpoints that have each alias.
#[derive(Debug, Default)]
struct Model {
    attached: BTreeMap<String, BTreeMap<(String, i64), Data>>,
    marks: BTreeMap<String, BTreeSet<CheckpointId>>,
}

impl Model {
    fn attach(&mut self, alias: &str, one: &Attachment) {
        let all = self.attached.entry(alias.to_owned()).or_default();
        let key = (one.writer.clone(), one.index);
        if one.index < 0 || !all.contains_key(&key) {
            all.insert(key, one.data.clone());
        }
    }

    /// Takes over which checkpoints remain.
    fn remain(&mut self, all: &BTreeSet<CheckpointId>) {
        for (alias, marks) in &mut self.marks {
            let before = marks.len();
            marks.retain(|mark| all.contains(mark));
            if marks.is_empty() && before > 0 {
                self.attached.remove(alias);
            }
        }
    }
}

fn checkpoints(engine: &Engine) -> BTreeSet<CheckpointId> {
    let query = CheckpointQuery { limit: Some(1000), ..CheckpointQuery::default() };
    engine.query().checkpoints(&query).unwrap().items.into_iter().map(|mark| mark.id).collect()
}

fn check(task: &Task, model: &Model) {
    for n in 0..5 {
        let alias = format!("alias-{n}");
        let found = task.attached(&alias).unwrap().into_iter();
        let found: BTreeMap<_, _> = found.map(|it| ((it.writer, it.index), it.data)).collect();
        assert_eq!(found, model.attached.get(&alias).cloned().unwrap_or_default(), "{alias}");
    }
}

fn verify(engine: &Engine) {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
}

fn clean_up(engine: &Engine, policy: &Policy) {
    let report = engine.retention().retain(policy).unwrap();
    assert!(report.tasks.iter().all(|task| task.error.is_none()), "{report:#?}");
}

/// Keeps some checkpoints, by their shares of all.
fn keep_only(engine: &Engine, shares: &[f64]) {
    let all: Vec<_> = checkpoints(engine).into_iter().collect();
    let place = |share: &f64| all.get((all.len() as f64 * share) as usize).copied();
    let kept: BTreeSet<_> = shares.iter().filter_map(place).collect();
    let gone = all.into_iter().filter(|id| !kept.contains(id));
    clean_up(engine, &Policy::new().remove("thread", gone));
    assert_eq!(checkpoints(engine), kept);
}

fn run(ops: &[Op]) {
    let dir = tempfile::tempdir().unwrap();
    let open = || Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let mut engine = open();
    engine.start_task("thread", "ana").unwrap();
    let mut model = Model::default();
    for op in ops {
        let task = engine.task("thread").unwrap();
        let begin = task.lineage().info().unwrap().begin;
        let head = task.head().unwrap().next;
        match op {
            Op::Attach(alias, all) => {
                let alias = format!("alias-{alias}");
                let one = |(writer, index, len): &(u8, i64, usize)| {
                    let data = Data::Bytes(vec![*len as u8; *len]);
                    Attachment::new(format!("writer-{writer}"), *index, data).name("channel")
                };
                let all: Vec<_> = all.iter().map(one).collect();
                task.attach(&alias, all.clone()).unwrap();
                all.iter().for_each(|one| model.attach(&alias, one));
            }
            Op::Mark(alias) => {
                let alias = format!("alias-{alias}");
                let step = Append::from(Message::text("user", "step"));
                let mark = task.append_marked(step, Mark::new().alias(&alias)).unwrap();
                model.marks.entry(alias).or_default().insert(mark.id);
            }
            Op::Unmark(share) => {
                let all: Vec<_> = checkpoints(&engine).into_iter().collect();
                let place = (all.len() as f64 * share) as usize;
                engine.retention().unmark(all.get(place..=place).unwrap_or_default()).unwrap();
            }
            Op::Restore(share) => {
                let at = begin + ((head - begin) as f64 * share) as u64;
                engine.restore(&task.point(at).unwrap()).run().unwrap();
            }
            Op::Switch(share) => {
                let all = task.lineages().unwrap();
                let one = &all[(all.len() as f64 * share) as usize];
                engine.switch(&task.lineage_named(one.id).unwrap()).run().unwrap();
            }
            Op::CleanUp(keep, keep_lineages) => {
                clean_up(&engine, &Policy::new().keep(*keep).keep_lineages(*keep_lineages));
            }
            Op::KeepOnly(shares) => keep_only(&engine, shares),
            Op::TrimBefore(share) => {
                let at = begin + ((head - begin) as f64 * share) as u64;
                clean_up(&engine, &Policy::new().trim_before(&task.point(at).unwrap()));
            }
            Op::Compact => _ = engine.retention().compact(&mut |_| {}).unwrap(),
            Op::Reopen => {
                engine.clone().close().unwrap();
                engine = open();
            }
        }
        model.remain(&checkpoints(&engine));
        check(&engine.task("thread").unwrap(), &model);
    }
    verify(&engine);
    engine.retention().compact(&mut |_| {}).unwrap();
    verify(&engine);
    check(&engine.task("thread").unwrap(), &model);
    engine.clone().close().unwrap();
    let engine = open();
    check(&engine.task("thread").unwrap(), &model);
    let copy = copied(&engine);
    check(&copy.task("thread").unwrap(), &model);
    verify(&copy);
}

/// Imports an export of all tasks into another store.
fn copied(engine: &Engine) -> Engine {
    let to = Engine::in_memory(Options::default()).unwrap();
    let mut import = to.transfer().import();
    let mut export = engine.transfer().export(false).unwrap();
    let mut carry = |carried: ExportItem| match carried {
        ExportItem::Task(task) => import.task(task),
        ExportItem::Chunk(chunk) => import.chunk(chunk),
        ExportItem::Event(event) => import.event(event),
    };
    export.task("thread", &mut carry).unwrap();
    import.finish().unwrap();
    to
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn attached_data_outlives_its_events_and_goes_with_its_last_checkpoint(
        ops in proptest::collection::vec(op(), 1..40),
    ) {
        run(&ops);
    }
}

fn bytes(writer: &str, index: i64, text: &str) -> Attachment {
    Attachment::new(writer, index, Data::Bytes(text.as_bytes().to_vec()))
}

#[test]
fn an_event_of_attached_data_names_an_alias_and_can_be_erased() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("thread", "ana").unwrap();
    task.attach("step-1", [bytes("a", 0, "secret"), bytes("a", 1, "other")]).unwrap();
    let event = task.read(1..2).unwrap().next().unwrap().unwrap();
    assert_eq!(event.header.correlation.as_deref(), Some("step-1"));
    let body = event.body.unwrap();
    for alias in [None, Some("two\nlines"), Some("")] {
        let mut append = Append::from(body.clone());
        if let Some(alias) = alias {
            append = append.correlation(alias);
        }
        assert_eq!(task.append(append).unwrap_err().kind(), ErrorKind::Invalid, "{alias:?}");
    }
    engine.retention().erase(&task.point(1).unwrap(), None).unwrap();
    assert_eq!(task.attached("step-1").unwrap(), [bytes("a", 1, "other")]);
    verify(&engine);
    assert_eq!(task.attached("").unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn data_of_a_marked_checkpoint_is_on_its_lineage_whichever_is_active() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let old = engine.start_task("thread", "ana").unwrap();
    let step = |text: &str| Append::from(Message::text("user", text));
    old.append_marked(step("one"), Mark::new().alias("step-1")).unwrap();
    let task = engine.restore(&old.point(1).unwrap()).run().unwrap();
    // The handle is of the lineage that was active before.
    old.attach("step-1", [bytes("a", 0, "one")]).unwrap();
    old.attach("step-2", [bytes("a", 0, "two")]).unwrap();
    assert_eq!(task.attached("step-1").unwrap(), [bytes("a", 0, "one")]);
    assert_eq!(task.head().unwrap().next, 3);
    // It outlives that lineage, since a checkpoint may come.
    task.append_marked(step("two"), Mark::new().alias("step-3")).unwrap();
    clean_up(&engine, &Policy::new().keep(1).undo(0));
    assert_eq!(task.lineages().unwrap().len(), 1);
    assert_eq!(task.attached("step-2").unwrap(), [bytes("a", 0, "two")]);
    verify(&engine);
}

#[test]
fn nothing_is_attached_to_a_deleted_task_nor_to_its_successor() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("thread", "ana").unwrap();
    task.attach("step-1", [bytes("a", 0, "one")]).unwrap();
    engine.retention().delete_task("thread").unwrap();
    for error in [
        task.attach("step-1", [bytes("a", 1, "late")]).unwrap_err(),
        task.attached("step-1").unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
    let next = engine.start_task("thread", "ana").unwrap();
    assert!(next.attached("step-1").unwrap().is_empty());
}

#[test]
fn a_removal_that_erases_also_erases_what_is_attached_behind_the_mark() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("thread", "ana").unwrap();
    let step = Append::from(Message::text("user", "one"));
    task.append_marked(step, Mark::new().alias("step-1")).unwrap();
    task.attach("step-1", [bytes("a", 0, "secret")]).unwrap();
    task.attach("step-2", [bytes("a", 0, "pending")]).unwrap();
    let all = CheckpointQuery { task: Some("thread".into()), ..CheckpointQuery::default() };
    let done = engine.retention().unmark_all_erasing(&all, None).unwrap();
    assert_eq!((done.checkpoints, done.events), (1, 2));
    let bodies: Vec<_> = task.read(3..5).unwrap().map(|event| event.unwrap().body).collect();
    assert!(bodies[0].is_none() && bodies[1].is_some());
    assert!(task.attached("step-1").unwrap().is_empty());
    assert_eq!(task.attached("step-2").unwrap(), [bytes("a", 0, "pending")]);
    verify(&engine);
}

#[test]
fn much_data_of_one_alias_is_carried_in_several_commits_and_once() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("thread", "ana").unwrap();
    for index in 0..80 {
        let data = Data::Bytes(vec![index as u8; 250_000]);
        task.attach("pending", [Attachment::new("a", index, data)]).unwrap();
    }
    let before = task.attached("pending").unwrap();
    for _ in 0..2 {
        for n in 0..3 {
            let step = Append::from(Message::text("user", "one"));
            task.append_marked(step, Mark::new().alias(format!("step-{n}"))).unwrap();
        }
        let report = engine.retention().retain(&Policy::new().keep(1)).unwrap();
        assert!(report.tasks.iter().all(|task| task.error.is_none()), "{report:#?}");
        assert_eq!(task.attached("pending").unwrap(), before);
    }
    verify(&engine);
}

#[test]
fn a_cleanup_that_was_killed_before_its_trim_appends_data_again_once() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("thread", "ana").unwrap();
    for text in ["old", "new"] {
        task.attach("pending", [bytes("a", -1, text)]).unwrap();
    }
    let copied = task.read(2..3).unwrap().next().unwrap().unwrap().body.unwrap();
    for n in 0..2 {
        let step = Append::from(Message::text("user", "one"));
        task.append_marked(step, Mark::new().alias(format!("step-{n}"))).unwrap();
    }
    task.append(Append::from(copied).correlation("pending").actor("retention")).unwrap();
    // Newer data counts until its own event is removed.
    assert_eq!(task.attached("pending").unwrap(), [bytes("a", -1, "new")]);
    let head = task.head().unwrap().next;
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert!(task.lineage().info().unwrap().begin > 2);
    assert_eq!(task.head().unwrap().next, head, "nothing else");
    assert_eq!(task.attached("pending").unwrap(), [bytes("a", -1, "new")]);
    task.attach("pending", [bytes("a", -1, "newest")]).unwrap();
    assert_eq!(task.attached("pending").unwrap(), [bytes("a", -1, "newest")]);
    verify(&engine);
}

#[test]
fn an_alias_that_is_marked_anew_while_its_last_checkpoint_is_removed_keeps_what_is_attached() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let first = task.checkpoint(Mark::new().alias("a")).unwrap();
    let one = Attachment::new("w", 0, Data::Bytes(b"draft".to_vec()));
    task.attach("a", [one.clone()]).unwrap();
    let (retention, policy) = (engine.retention(), Json::new("{}").unwrap());
    let removed =
        [RemovedMark { lineage: first.lineage, offset: first.mark, checkpoint: first.id }];
    let removal = retention.removal(task.no(), &policy, &removed).unwrap();
    task.checkpoint(Mark::new().alias("a")).unwrap();
    let error = engine.inner.commit(removal).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    retention.remove(task.no(), &policy, &removed).unwrap();
    assert_eq!(task.attached("a").unwrap(), [one]);
    let last = task.last_successful().unwrap().unwrap();
    engine.retention().unmark(&[last.id]).unwrap();
    assert_eq!(task.attached("a").unwrap(), []);
}
