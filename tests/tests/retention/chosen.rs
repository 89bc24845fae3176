//! Cleanups that keep a set of checkpoints, or what is behind a point.

use std::collections::BTreeMap;

use milepost::events::{Attachment, Data};
use milepost::retention::Policy;
use milepost::{
    Append, Checkpoint, CheckpointId, Engine, ErrorKind, LineageId, Mark, Options, Task,
};

use super::{assert_clean, message};

/// Appends an event and a checkpoint with data attached to it, by the alias `mark-N`.
fn step(task: &Task, n: u64) -> Checkpoint {
    let alias = format!("mark-{n}");
    let mark = task.append_marked(Append::from(message(n)), Mark::new().alias(&alias)).unwrap();
    let data = Data::Bytes(alias.clone().into_bytes());
    task.attach(&alias, [Attachment::new("w", 0, data)]).unwrap();
    mark
}

fn scene(checkpoints: u64) -> (Engine, Task, Vec<Checkpoint>) {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let marks = (0..checkpoints).map(|n| step(&task, n)).collect();
    (engine, task, marks)
}

fn ids(marks: &[&Checkpoint]) -> Vec<CheckpointId> {
    marks.iter().map(|mark| mark.id).collect()
}

fn removed(engine: &Engine, policy: &Policy) -> Vec<CheckpointId> {
    let plan = engine.retention().plan(policy).unwrap();
    let planned = plan.tasks[0].clone();
    let report = engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
    assert!(report.tasks[0].error.is_none(), "{report:?}");
    let of = |trimmed: &[(LineageId, u64)]| trimmed.iter().copied().collect::<BTreeMap<_, _>>();
    assert_eq!(of(&report.tasks[0].trimmed), of(&planned.trimmed));
    assert_clean(engine);
    planned.removed
}

#[test]
fn the_chosen_checkpoints_stay_with_what_is_attached_to_them_and_no_others() {
    let (engine, task, marks) = scene(6);
    engine.retention().pin(&marks[1].id, None).unwrap();
    let policy = Policy::new().keep_only("t", [marks[2].id, marks[4].id]);
    let expected = ids(&[&marks[5], &marks[3], &marks[0]]);
    assert_eq!(removed(&engine, &policy), expected);
    assert_eq!(task.checkpoints().unwrap(), 3);
    for n in 0..6 {
        let found = task.attached(&format!("mark-{n}")).unwrap().len();
        assert_eq!(found, usize::from([1, 2, 4].contains(&n)), "mark-{n}");
    }
    // The oldest of them is the pinned one.
    assert_eq!(task.lineage().info().unwrap().begin, marks[1].at);
    for mark in [&marks[1], &marks[2], &marks[4]] {
        let point = engine.point(&format!("@{}", mark.id)).unwrap();
        engine.run_state(&point).unwrap();
    }
}

#[test]
fn the_rules_of_a_policy_add_up() {
    let (engine, _, marks) = scene(5);
    let policy = Policy::new().keep_only("t", [marks[1].id]).keep(1).marks_only(true);
    assert_eq!(removed(&engine, &policy), ids(&[&marks[3], &marks[2], &marks[0]]));
    let (engine, _, marks) = scene(5);
    let point = engine.point(&format!("@{}", marks[3].id)).unwrap();
    let policy = Policy::new().keep_only("t", [marks[1].id]).trim_before(&point);
    assert_eq!(removed(&engine, &policy), ids(&[&marks[2], &marks[0]]));
}

#[test]
fn a_set_with_a_checkpoint_that_is_not_there_removes_nothing() {
    let (engine, task, marks) = scene(3);
    let other = engine.start_task("other", "ana").unwrap();
    let of_other = other.checkpoint(Mark::new()).unwrap();
    let policy = Policy::new().keep_only("t", [marks[0].id, of_other.id]);
    let error = engine.retention().retain(&policy).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(&of_other.id.to_string()), "{error}");
    for wider in [policy.clone().user("ana"), policy.task("none")] {
        assert!(engine.retention().plan(&wider).is_err());
    }
    assert_eq!(task.checkpoints().unwrap(), 3);
    assert_eq!(task.lineage().info().unwrap().begin, 0);
}

#[test]
fn events_before_a_point_are_removed_up_to_it_also_where_no_checkpoint_is() {
    let (engine, task, marks) = scene(3);
    let at = marks[1].mark + 1;
    let point = task.point(at).unwrap();
    let state = engine.run_state(&point).unwrap();
    assert_eq!(removed(&engine, &Policy::new().trim_before(&point)), ids(&[&marks[1], &marks[0]]));
    assert_eq!(task.lineage().info().unwrap().begin, at);
    assert_eq!(engine.run_state(&point).unwrap(), state);
    assert_eq!(task.attached("mark-2").unwrap().len(), 1);
    assert_eq!(removed(&engine, &Policy::new().trim_before(&point)), []);
    // A task without a checkpoint is trimmed, too.
    let other = engine.start_task("other", "ana").unwrap();
    for n in 0..4 {
        other.append(message(n)).unwrap();
    }
    let point = other.point(3).unwrap();
    let plan = engine.retention().plan(&Policy::new().trim_before(&point).marks_only(true));
    assert!(plan.unwrap().tasks[0].is_empty());
    assert_eq!(removed(&engine, &Policy::new().trim_before(&point)), []);
    assert_eq!(other.lineage().info().unwrap().begin, 3);
}

#[test]
fn what_another_lineage_needs_stays_before_the_point() {
    let (engine, task, marks) = scene(3);
    let fork = engine.point(&format!("@{}", marks[1].id)).unwrap();
    let branch = engine.branch(&fork, None).unwrap();
    let own = branch.checkpoint(Mark::new()).unwrap();
    let policy = Policy::new().trim_before(&task.point(marks[2].at).unwrap());
    let policy = policy.keep_lineages(true);
    assert_eq!(removed(&engine, &policy), ids(&[&marks[1], &marks[0]]));
    assert_eq!(task.lineage().info().unwrap().begin, marks[2].at);
    let point = engine.point(&format!("@{}", own.id)).unwrap();
    engine.run_state(&point).unwrap();
}
