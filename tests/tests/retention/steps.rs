//! Removed checkpoints whose steps are erased with them.

use milepost::events::Message;
use milepost::query::CheckpointQuery;
use milepost::retention::Policy;
use milepost::{Append, CheckpointId, Engine, ErrorKind, Json, Lineage, Mark, Options, Task};
use milepost_tests::folder;
use milepost_tests::seed::{Random, number, seed};

use super::{assert_clean, message, state, step};

fn mark_of(run: &str) -> Mark {
    Mark::new().metadata(Json::new(format!(r#"{{"run":"{run}"}}"#)).unwrap())
}

/// Two messages, and a checkpoint of a run.
fn step_of(task: &Task, run: &str) -> CheckpointId {
    let messages = [message(1), message(2)];
    task.append(Append::batch(messages).mark(mark_of(run))).unwrap();
    task.last_successful().unwrap().unwrap().id
}

fn of_run(run: &str) -> CheckpointQuery {
    CheckpointQuery { filter: vec![("run".into(), run.into())], ..CheckpointQuery::default() }
}

fn erase(engine: &Engine, run: &str) -> (u64, u64) {
    let done = engine.retention().unmark_all_erasing(&of_run(run), Some("asked for")).unwrap();
    (done.checkpoints, done.events)
}

/// The offsets of the erased events.
fn erased(lineage: &Lineage) -> Vec<u64> {
    let events = lineage.read(..).unwrap().map(Result::unwrap);
    events.filter(|event| event.body.is_none()).map(|event| event.offset).collect()
}

fn commits(engine: &Engine) -> u64 {
    engine.store().metrics().commits
}

#[test]
fn what_the_steps_of_a_run_appended_is_erased_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("store"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    // Offsets: 0 opens, 1 2 [3], 4 5 [6], 7 8 [9], 10 11 [12], and 13.
    let ids: Vec<_> = ["r-1", "r-2", "r-2", "r-1"].map(|run| step_of(&task, run)).into();
    task.append(message(3)).unwrap();
    let before = state(&engine, &format!("@{}", ids[0]));
    let now = commits(&engine);
    assert_eq!(erase(&engine, "r-2"), (2, 4));
    assert_eq!(commits(&engine), now + 1, "marks and erasures are one commit");
    folder::copy_store(&root, &killed).unwrap();
    let check = |engine: &Engine| {
        let task = engine.task("t").unwrap();
        assert_eq!(erased(task.lineage()), [4, 5, 7, 8]);
        assert_eq!(state(engine, &format!("@{}", ids[0])), before);
        for (n, id) in ids.iter().enumerate() {
            let found = engine.query().checkpoint(&id.to_string());
            assert_eq!(found.is_ok(), n % 3 == 0);
        }
        let run = engine.run_state(&engine.point("t").unwrap()).unwrap();
        assert_eq!(run.messages.len(), 9, "erased entries are in the places of the others");
        assert_clean(engine);
        assert!(engine.integrity().verify_states(None).unwrap().is_empty());
    };
    check(&engine);
    assert_eq!(erase(&engine, "r-2"), (0, 0));
    engine.retention().compact(&mut |_| {}).unwrap();
    check(&engine);
    for sled in [true, false] {
        if !sled {
            folder::remove_sled(&killed).unwrap();
        }
        let engine = Engine::open(&killed, Options::default()).unwrap();
        check(&engine);
        engine.close().unwrap();
    }
}

#[test]
fn an_earlier_removal_a_pin_and_a_second_mark_of_a_point_end_or_keep_a_step() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    step_of(&task, "old");
    engine.retention().unmark_all(&of_run("old")).unwrap();
    // 4 5 [6]: what was removed before is not part of it.
    step_of(&task, "r");
    // 7 8 [9], and pinned.
    let pinned = step_of(&task, "r");
    engine.retention().pin(&pinned, None).unwrap();
    // 10 11 [12], and the same point once more [13].
    step_of(&task, "r");
    task.checkpoint(mark_of("other").at(12)).unwrap();
    // 14 15 [16], of an earlier point: 17 is no part of it.
    task.append(Append::batch([message(1), message(2), message(3)])).unwrap();
    task.checkpoint(mark_of("r").at(16)).unwrap();
    assert_eq!(erase(&engine, "r"), (3, 4));
    assert_eq!(erased(task.lineage()), [4, 5, 14, 15]);
    assert_eq!(engine.retention().pins("t").unwrap().len(), 1);
    assert_clean(&engine);
}

#[test]
fn what_others_build_on_and_what_was_inherited_stays() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(message(1)).unwrap();
    let fork = task.append(message(2)).unwrap().first + 1;
    let branch = engine.branch(&task.point(fork).unwrap()).run().unwrap();
    let opened = branch.append(message(3)).unwrap().first;
    branch.checkpoint(mark_of("r")).unwrap();
    let child = engine.branch(&branch.point(opened + 1).unwrap()).run().unwrap();
    child.append(message(4)).unwrap();
    assert_eq!(erase(&engine, "r"), (1, 1));
    assert_eq!(erased(&branch), [opened]);
    assert_eq!(erased(&child), [opened], "where it was inherited it is erased too");
    assert_eq!(erased(task.lineage()), [0; 0]);
    assert_clean(&engine);
}

#[test]
fn if_one_step_is_part_of_a_base_nothing_is_removed_in_any_task() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let first = engine.start_task("first", "ana").unwrap();
    step_of(&first, "r");
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Append::batch([message(1), message(2)])).unwrap();
    let branch = engine.branch(&task.point(2).unwrap()).run().unwrap();
    for n in 0..3 {
        branch.append(message(n)).unwrap();
    }
    let late = branch.checkpoint(mark_of("late")).unwrap();
    let removed = branch.checkpoint(mark_of("gone")).unwrap();
    engine.retention().unmark(&[removed.id]).unwrap();
    engine.retention().pin(&late.id, None).unwrap();
    // The branch is trimmed before its checkpoint, and the task, which has none, is kept whole.
    engine.retention().retain(&Policy::new().keep(9).keep_lineages(true)).unwrap();
    let kept = step_of(&task, "r");
    assert!(branch.info().unwrap().begin > 0, "it begins with a base");
    let now = commits(&engine);
    let refused = engine.retention().unmark_all_erasing(&of_run("r"), None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    assert!(refused.to_string().contains("lineage 1"), "{refused}");
    assert_eq!(commits(&engine), now);
    assert_eq!(erased(first.lineage()), [0; 0]);
    assert!(engine.query().checkpoint(&kept.to_string()).is_ok());
    let reason = "x".repeat(2000);
    let long = engine.retention().unmark_all_erasing(&of_run("r"), Some(&reason)).unwrap_err();
    assert_eq!(long.kind(), ErrorKind::Invalid);
    // Each task alone is another matter.
    let alone = CheckpointQuery { task: Some("first".into()), ..of_run("r") };
    assert_eq!(engine.retention().unmark_all_erasing(&alone, None).unwrap().events, 2);
    assert_clean(&engine);
}

#[test]
fn many_checkpoints_of_a_task_are_one_commit() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..250 {
        step_of(&task, if n % 2 == 0 { "r" } else { "s" });
    }
    let now = commits(&engine);
    assert_eq!(erase(&engine, "r"), (125, 250));
    assert_eq!(commits(&engine), now + 1);
    assert_eq!(erased(task.lineage()).len(), 250);
    assert_eq!(engine.store().stats().unwrap().checkpoints, 125);
    assert_clean(&engine);
}

/// Removes the checkpoints of runs at random, and compares the erasures with a plain model: for
/// each event the first point after it that any mark ever had on its lineage.
#[test]
fn an_event_is_erased_exactly_if_all_marks_of_its_step_are_removed_by_one_call() {
    let cases = number("MILEPOST_CASES").unwrap_or(12);
    for case in 0..cases {
        let mut random = Random::new(seed().wrapping_add(case));
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        // (point, run) of each mark, in order, and whether it is there still.
        let mut marks: Vec<(u64, u64, bool)> = Vec::new();
        let mut expected: Vec<u64> = Vec::new();
        for _ in 0..60 {
            match random.below(10) {
                0..=4 => drop(task.append(message(random.below(99))).unwrap()),
                5..=7 => {
                    let run = random.below(4);
                    let marked = task.checkpoint(mark_of(&run.to_string())).unwrap();
                    marks.push((marked.at, run, true));
                }
                _ => {
                    let run = random.below(4);
                    let by_erasing = random.below(3) > 0;
                    if by_erasing {
                        erase(&engine, &run.to_string());
                    } else {
                        engine.retention().unmark_all(&of_run(&run.to_string())).unwrap();
                    }
                    for event in 1..task.head().unwrap().next {
                        let after = marks.iter().find(|(point, ..)| *point > event);
                        if by_erasing && after.is_some_and(|(_, of, there)| *there && *of == run) {
                            expected.push(event);
                        }
                    }
                    for mark in marks.iter_mut().filter(|(_, of, _)| *of == run) {
                        mark.2 = false;
                    }
                }
            }
        }
        // The events of marks stay.
        expected.retain(|event| marks.iter().all(|(point, ..)| point != event));
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(erased(task.lineage()), expected, "case {case}");
        assert_clean(&engine);
    }
}

#[test]
fn a_step_of_many_events_in_many_blocks_is_erased_whole() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    step(&task, 1);
    let first = task.head().unwrap().next;
    for n in 0..40 {
        let long = Message::text("user", &format!("{n} {}", "word ".repeat(20_000)));
        task.append(Append::batch([long, message(n)])).unwrap();
    }
    engine.store().drain().unwrap();
    task.checkpoint(mark_of("r")).unwrap();
    assert_eq!(erase(&engine, "r"), (1, 80));
    assert_eq!(erased(task.lineage()), (first..first + 80).collect::<Vec<_>>());
    engine.retention().compact(&mut |_| {}).unwrap();
    assert_clean(&engine);
    engine.close().unwrap();
}
