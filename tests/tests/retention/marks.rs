//! Checkpoints that a policy removes.

use std::sync::Arc;
use std::time::Duration;

use milepost::clock::ManualClock;
use milepost::retention::Policy;
use milepost::{Engine, ErrorKind, Mark, Options};
use milepost_tests::folder;

use super::{assert_clean, labels, message, state, step};

fn with_steps(task: &str, steps: u64) -> (Engine, milepost::Task) {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task(task, "ana").unwrap();
    for n in 0..steps {
        step(&task, n);
    }
    (engine, task)
}

#[test]
fn the_newest_are_kept_and_a_plan_says_before_what_goes() {
    let (engine, _) = with_steps("t", 36);
    let plan = engine.retention().plan(&Policy::new()).unwrap();
    let [task] = plan.tasks.as_slice() else { panic!("one task") };
    assert_eq!((task.task.as_str(), task.user.as_str()), ("t", "ana"));
    let counts = (task.checkpoints, task.removed.len(), task.remaining());
    assert_eq!(counts, (36, 26, 10));
    assert!(task.events > 0 && task.bytes > 0);
    assert_eq!(labels(&engine, "t").len(), 36, "a plan changes nothing");

    let mut told = Vec::new();
    let report = engine.retention().apply(&plan, &mut |done, all| told.push((done, all))).unwrap();
    assert_eq!(told, [(1, 1)]);
    assert_eq!((report.tasks[0].checkpoints, report.tasks[0].removed), (36, 26));
    assert!(report.tasks[0].error.is_none());
    let expected: Vec<_> = (26..36).rev().map(|n| format!("c-{n}")).collect();
    assert_eq!(labels(&engine, "t"), expected);
    assert_eq!(engine.store().stats().unwrap().checkpoints, 10);
    let gone = engine.point("t@c-3").unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
    assert_clean(&engine);
    // Again there is nothing to do.
    assert!(engine.retention().plan(&Policy::new()).unwrap().tasks[0].is_empty());
}

#[test]
fn each_scope_touches_its_tasks_only_and_a_task_wins_over_a_user() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let all = [("a1", "ana"), ("a2", "ana"), ("b1", "bob")];
    for (name, user) in all {
        let task = engine.start_task(name, user).unwrap();
        (0..4).for_each(|n| drop(step(&task, n)));
    }
    let counts = || all.map(|(name, _)| labels(&engine, name).len());
    let keep = |n| Policy::new().keep(n);
    engine.retention().retain(&keep(3).user("bob").task("a1")).unwrap();
    assert_eq!(counts(), [3, 4, 4]);
    engine.retention().retain(&keep(2).user("ana")).unwrap();
    assert_eq!(counts(), [2, 2, 4]);
    engine.retention().retain(&keep(1)).unwrap();
    assert_eq!(counts(), [1, 1, 1]);
    engine.retention().retain(&keep(0).task("b1")).unwrap();
    assert_eq!(counts(), [1, 1, 0]);
    let none = engine.retention().retain(&keep(1).task("c")).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
    assert_clean(&engine);
}

#[test]
fn what_is_younger_than_an_age_is_kept_and_the_newest_beside_it() {
    let clock = Arc::new(ManualClock::at(0));
    let engine = Engine::in_memory(Options::default().clock(Arc::clone(&clock) as _)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..10 {
        step(&task, n);
        clock.advance(60_000_000);
    }
    let young = Policy::new().younger_than(Duration::from_secs(180)).marks_only(true);
    let plan = |policy: &Policy| engine.retention().plan(policy).unwrap().tasks[0].remaining();
    // Those of minutes 7, 8 and 9: one that is as old as that stays.
    assert_eq!(plan(&young), 3);
    assert_eq!(plan(&young.clone().keep(5)), 5);
    assert_eq!(plan(&young.clone().keep(1)), 3);
    engine.retention().retain(&young).unwrap();
    assert_eq!(labels(&engine, "t"), ["c-9", "c-8", "c-7"]);
}

#[test]
fn pinned_checkpoints_stay_until_they_are_unpinned_and_so_does_what_they_need() {
    let (engine, _) = with_steps("t", 10);
    let id = |label: &str| {
        let point = engine.point(&format!("t@{label}")).unwrap();
        point.checkpoint.unwrap()
    };
    let (second, fifth) = (id("c-2"), id("c-5"));
    let before = state(&engine, "t@c-2");
    engine.retention().pin(&second, Some("the one in the paper")).unwrap();
    engine.retention().pin(&fifth, None).unwrap();
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert_eq!(labels(&engine, "t"), ["c-9", "c-5", "c-2"]);
    assert_eq!(state(&engine, "t@c-2"), before);
    let pins = engine.retention().pins("t").unwrap();
    assert_eq!(pins.len(), 2);
    assert!(pins.iter().any(|pin| pin.reason.as_deref() == Some("the one in the paper")));
    let pinned = engine.retention().unmark(&[fifth]).unwrap_err();
    assert_eq!(pinned.kind(), ErrorKind::Conflict);

    engine.retention().unpin(&second).unwrap();
    engine.retention().unpin(&second).unwrap();
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert_eq!(labels(&engine, "t"), ["c-9", "c-5"]);
    assert_clean(&engine);
}

#[test]
fn what_is_pinned_or_marked_between_plan_and_apply_is_not_lost() {
    let (engine, task) = with_steps("t", 6);
    let plan = engine.retention().plan(&Policy::new().keep(1)).unwrap();
    let pinned = engine.point("t@c-1").unwrap().checkpoint.unwrap();
    engine.retention().pin(&pinned, None).unwrap();
    let restored = engine.restore(&engine.point("t@c-3").unwrap()).run().unwrap();
    step(&restored, 20);
    drop(task);
    let before = (state(&engine, "t@c-1"), state(&engine, "t"));
    engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
    assert_eq!(labels(&engine, "t"), ["c-20", "c-5", "c-1"]);
    assert_eq!((state(&engine, "t@c-1"), state(&engine, "t")), before);
    assert_clean(&engine);
}

#[test]
fn single_checkpoints_are_removed_and_their_events_stay() {
    let (engine, task) = with_steps("t", 5);
    let ids: Vec<_> = ["c-1", "c-3"]
        .map(|label| engine.point(&format!("t@{label}")).unwrap().checkpoint.unwrap())
        .to_vec();
    let head = task.head().unwrap();
    engine.retention().unmark(&ids).unwrap();
    assert_eq!(labels(&engine, "t"), ["c-4", "c-2", "c-0"]);
    assert_eq!(task.head().unwrap(), head);
    assert_eq!(task.read(..).unwrap().count() as u64, head.next);
    let again = engine.retention().unmark(&ids).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NotFound);
    // The next one is the child of one that is there.
    engine.retention().unmark(&[engine.point("t@c-4").unwrap().checkpoint.unwrap()]).unwrap();
    let next = task.checkpoint(Mark::new()).unwrap();
    assert_eq!(next.parent, engine.point("t@c-2").unwrap().checkpoint);
    assert_clean(&engine);
}

#[test]
fn a_label_that_was_removed_names_the_one_before_it_again() {
    let (engine, task) = with_steps("t", 0);
    for n in 0..3 {
        task.append(message(n)).unwrap();
        // Some are too large for an entry of the index.
        let metadata = format!(r#"{{"n":"{}"}}"#, "x".repeat(n as usize * 2000));
        let metadata = milepost::Json::new(&metadata).unwrap();
        let mark = Mark::new().label("good").alias(format!("alias-{n}")).metadata(metadata);
        task.checkpoint(mark).unwrap();
    }
    for n in (0..3).rev() {
        let id = engine.point("t@good").unwrap().checkpoint.unwrap();
        let by_alias = engine.point(&format!("t@alias-{n}")).unwrap().checkpoint;
        assert_eq!(by_alias, Some(id));
        engine.retention().unmark(&[id]).unwrap();
        assert!(engine.point(&format!("t@alias-{n}")).is_err());
    }
    assert!(engine.point("t@good").is_err());
    assert_clean(&engine);
}

#[test]
fn what_was_removed_is_gone_after_a_kill_and_where_sled_is_built_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("store"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    (0..30).for_each(|n| drop(step(&task, n)));
    engine.retention().retain(&Policy::new().keep(4)).unwrap();
    step(&task, 30);
    let states = ["t@c-26", "t@c-30", "t"].map(|address| state(&engine, address));
    folder::copy_store(&root, &killed).unwrap();
    for sled in [true, false] {
        if !sled {
            std::fs::remove_dir_all(killed.join("sled")).unwrap();
        }
        let engine = Engine::open(&killed, Options::default()).unwrap();
        assert_eq!(labels(&engine, "t"), ["c-30", "c-29", "c-28", "c-27", "c-26"]);
        assert_eq!(engine.store().stats().unwrap().checkpoints, 5);
        let found = ["t@c-26", "t@c-30", "t"].map(|address| state(&engine, address));
        assert_eq!(found, states);
        assert_clean(&engine);
        engine.close().unwrap();
    }
}

#[test]
fn all_checkpoints_of_a_run_are_removed_and_no_others() {
    let (engine, task) = with_steps("t", 0);
    for n in 0..600 {
        let metadata = format!(r#"{{"run":"r-{}"}}"#, n % 3);
        let mark = Mark::new().label(format!("c-{n}"));
        let mark = mark.metadata(milepost::Json::new(&metadata).unwrap());
        task.append(milepost::Append::from(message(n)).mark(mark)).unwrap();
    }
    let pinned = engine.point("t@c-4").unwrap().checkpoint.unwrap();
    engine.retention().pin(&pinned, None).unwrap();
    let query = milepost::query::CheckpointQuery {
        task: Some("t".into()),
        filter: vec![("run".into(), "r-1".into())],
        ..Default::default()
    };
    assert_eq!(engine.retention().unmark_all(&query).unwrap(), 199);
    let left = labels(&engine, "t");
    assert_eq!(left.len(), 401);
    assert!(left.contains(&"c-4".into()) && !left.contains(&"c-1".into()));
    assert_eq!(engine.retention().unmark_all(&query).unwrap(), 0);
    assert_clean(&engine);
}

#[test]
fn appends_to_a_task_go_on_while_it_is_cleaned_up() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let branch = engine.branch(&engine.point("t").unwrap()).run().unwrap();
    // Without a checkpoint that is kept, it would be dropped.
    let pinned = branch.checkpoint(Mark::new().label("l")).unwrap();
    engine.retention().pin(&pinned.id, None).unwrap();
    let heads = || task.head().unwrap().next + branch.head().unwrap().next;
    let before = heads();
    let done = std::sync::atomic::AtomicBool::new(false);
    // If a sync costs nothing, the writers would give the cleanups ever more to do.
    let allowed = std::sync::atomic::AtomicU64::new(0);
    let appended: u64 = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|w| {
                let (task, branch, done, allowed) = (&task, &branch, &done, &allowed);
                scope.spawn(move || {
                    let mut n = 0;
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        if n >= allowed.load(std::sync::atomic::Ordering::Relaxed) {
                            std::thread::yield_now();
                            continue;
                        }
                        let append =
                            milepost::Append::from(message(n)).mark(Mark::new().label("l"));
                        match w % 2 {
                            0 => task.append(append).map(drop).unwrap(),
                            _ => branch.append(append).map(drop).unwrap(),
                        }
                        n += 1;
                    }
                    n
                })
            })
            .collect();
        for n in 0..60 {
            let now = heads();
            allowed.fetch_add(50, std::sync::atomic::Ordering::Relaxed);
            while heads() < now + 20 {
                std::thread::yield_now();
            }
            engine.retention().retain(&Policy::new().keep(n % 7)).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        writers.into_iter().map(|w| w.join().unwrap()).sum()
    });
    // Each event and each mark took an offset of its own.
    assert_eq!(heads(), before + 2 * appended);
    assert_clean(&engine);
    let report = engine.retention().retain(&Policy::new().keep(3)).unwrap();
    assert!(report.tasks[0].error.is_none());
    assert_eq!(labels(&engine, "t").len(), 4, "and the one that is pinned");
    assert_clean(&engine);
}

#[test]
fn a_lineage_that_was_dropped_takes_no_more_appends() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(message(0)).unwrap();
    let branch = engine.branch(&engine.point("t").unwrap()).run().unwrap();
    branch.append(message(1)).unwrap();
    branch.checkpoint(Mark::new().label("l")).unwrap();
    let report = engine.retention().retain(&Policy::new().keep(0)).unwrap();
    assert_eq!(report.tasks[0].dropped, [branch.id()]);
    let refused = [
        branch.append(message(2)).unwrap_err(),
        branch.checkpoint(Mark::new().label("m")).unwrap_err(),
        branch.submit(message(3)).and_then(|t| t.wait()).unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), milepost::ErrorKind::NotFound, "{error}");
    }
    task.append(message(4)).unwrap();
    assert_clean(&engine);
}
