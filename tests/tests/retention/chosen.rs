//! Cleanups that remove a set of checkpoints, or everything before a point.

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
fn the_chosen_checkpoints_go_with_what_is_attached_to_them_and_no_others() {
    let (engine, task, marks) = scene(6);
    engine.retention().pin(&marks[1].id, None).unwrap();
    let chosen = [0, 1, 3, 5].map(|n| marks[n].id);
    let policy = Policy::new().remove("t", chosen);
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
    let chosen = [0, 2, 3, 4].map(|n| marks[n].id);
    let policy = Policy::new().remove("t", chosen).keep(1).marks_only(true);
    assert_eq!(removed(&engine, &policy), ids(&[&marks[3], &marks[2], &marks[0]]));
    let (engine, _, marks) = scene(5);
    let point = engine.point(&format!("@{}", marks[3].id)).unwrap();
    let chosen = [0, 2, 4].map(|n| marks[n].id);
    let policy = Policy::new().remove("t", chosen).trim_before(&point);
    assert_eq!(removed(&engine, &policy), ids(&[&marks[2], &marks[0]]));
}

#[test]
fn checkpoints_of_other_tasks_those_that_went_and_later_ones_are_none_of_the_chosen() {
    let (engine, task, marks) = scene(3);
    let other = engine.start_task("other", "ana").unwrap();
    let of_other = other.checkpoint(Mark::new()).unwrap();
    engine.retention().unmark(&[marks[1].id]).unwrap();
    let policy = Policy::new().remove("t", [marks[0].id, marks[1].id, of_other.id]);
    for (wider, kind) in [
        (policy.clone().user("ana"), ErrorKind::Invalid),
        (policy.clone().task("none"), ErrorKind::NotFound),
    ] {
        assert_eq!(engine.retention().plan(&wider).unwrap_err().kind(), kind);
    }
    let plan = engine.retention().plan(&policy).unwrap();
    let later = step(&task, 3);
    engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
    assert_eq!(removed(&engine, &policy), []);
    assert_eq!((task.checkpoints().unwrap(), other.checkpoints().unwrap()), (2, 1));
    for mark in [&marks[2], &later, &of_other] {
        engine.run_state(&engine.point(&format!("@{}", mark.id)).unwrap()).unwrap();
    }
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
    let branch = engine.branch(&fork).run().unwrap();
    let own = branch.checkpoint(Mark::new()).unwrap();
    let policy = Policy::new().trim_before(&task.point(marks[2].at).unwrap());
    let policy = policy.keep_lineages(true);
    assert_eq!(removed(&engine, &policy), ids(&[&marks[1], &marks[0]]));
    assert_eq!(task.lineage().info().unwrap().begin, marks[2].at);
    let point = engine.point(&format!("@{}", own.id)).unwrap();
    engine.run_state(&point).unwrap();
}
