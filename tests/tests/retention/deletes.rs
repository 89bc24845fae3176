//! Tasks that are deleted.

use milepost::query::{CheckpointQuery, TaskQuery};
use milepost::retention::Policy;
use milepost::subscribe::SubscribeOptions;
use milepost::{Engine, ErrorKind, Mark, Options};
use milepost_tests::folder;

use super::{assert_clean, labels, message, state, step};

fn names(engine: &Engine) -> Vec<String> {
    let page = engine.query().tasks(&TaskQuery::default()).unwrap();
    page.items.into_iter().map(|task| task.id).collect()
}

#[test]
fn a_deleted_task_answers_like_one_that_was_never_there() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("secret", "ana").unwrap();
    engine.start_task("other", "ana").unwrap();
    let mark = step(&task, 1);
    let branch = engine.branch(&engine.point("secret").unwrap()).run().unwrap();
    let point = engine.point("secret@c-1").unwrap();
    let mut subscription = task.subscribe(0, SubscribeOptions::default()).unwrap();
    engine.retention().delete_task("secret").unwrap();

    let never = engine.task("never").unwrap_err().to_string();
    let gone = engine.task("secret").unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
    assert_eq!(gone.to_string(), never.replace("never", "secret"));
    assert_eq!(names(&engine), ["other"]);
    let kinds = [
        engine.point("secret@c-1").map(drop).unwrap_err().kind(),
        engine.query().checkpoint(&mark.id.to_string()).map(drop).unwrap_err().kind(),
        engine.run_state(&point).map(drop).unwrap_err().kind(),
        engine.restore(&point).run().map(drop).unwrap_err().kind(),
        engine.branch(&point).run().map(drop).unwrap_err().kind(),
        engine.undo("secret").run().map(drop).unwrap_err().kind(),
        engine.retention().pin(&mark.id, None).unwrap_err().kind(),
        engine.retention().delete_task("secret").unwrap_err().kind(),
        task.append(message(1)).map(drop).unwrap_err().kind(),
        task.submit(message(1)).unwrap().wait().map(drop).unwrap_err().kind(),
        task.checkpoint(Mark::new()).map(drop).unwrap_err().kind(),
        task.head().map(drop).unwrap_err().kind(),
        task.read(..).map(drop).unwrap_err().kind(),
        branch.append(message(1)).map(drop).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::NotFound; 14]);
    while let Ok(Some(_)) = subscription.try_next() {}
    assert!(engine.query().checkpoints(&CheckpointQuery::default()).unwrap().items.is_empty());
    let stats = engine.store().stats().unwrap();
    assert_eq!((stats.tasks, stats.checkpoints), (1, 0));
    assert_eq!(engine.retention().plan(&Policy::new()).unwrap().tasks.len(), 1);
    assert_clean(&engine);
}

#[test]
fn the_name_may_be_used_again_and_handles_of_before_do_not_write_into_it() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("store"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let old = engine.start_task("t", "ana").unwrap();
    step(&old, 1);
    engine.retention().delete_task("t").unwrap();
    let new = engine.start_task("t", "bob").unwrap();
    assert_ne!(old.no(), new.no());
    step(&new, 2);
    assert_eq!(old.append(message(1)).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(labels(&engine, "t"), ["c-2"]);
    let before = state(&engine, "t");
    engine.retention().delete_task("t").unwrap();
    engine.start_task("u", "bob").unwrap();
    let newest = engine.start_task("t", "eve").unwrap();
    assert!(newest.no() > new.no());
    folder::copy_store(&root, &killed).unwrap();
    assert_clean(&engine);
    for sled in [true, false] {
        if !sled {
            std::fs::remove_dir_all(killed.join("sled")).unwrap();
        }
        let engine = Engine::open(&killed, Options::default()).unwrap();
        assert_eq!(names(&engine), ["t", "u"]);
        assert_ne!(state(&engine, "t"), before);
        assert_eq!(engine.task("t").unwrap().user(), "eve");
        assert_eq!(engine.task("t").unwrap().no(), newest.no());
        assert_clean(&engine);
        engine.close().unwrap();
    }
}

#[test]
fn all_tasks_of_a_user_go_and_nobody_elses() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    for n in 0..5 {
        engine.start_task(&format!("a-{n}"), "ana").unwrap();
    }
    engine.start_task("b", "bob").unwrap();
    let mut told = Vec::new();
    let count =
        engine.retention().delete_user("ana", &mut |done, all| told.push((done, all))).unwrap();
    assert_eq!(count, 5);
    assert_eq!(told.last(), Some(&(5, 5)));
    assert_eq!(names(&engine), ["b"]);
    let ana = engine.as_user("ana");
    assert_eq!(ana.retention().delete_task("b").unwrap_err().kind(), ErrorKind::NotFound);
    engine.as_user("bob").retention().delete_task("b").unwrap();
    assert!(names(&engine).is_empty());
}

#[test]
fn statistics_are_of_the_store_of_a_user_and_of_each_task() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    for (name, user, steps) in [("a", "ana", 3), ("b", "bob", 1), ("c", "ana", 0)] {
        let task = engine.start_task(name, user).unwrap();
        (0..steps).for_each(|n| drop(step(&task, n)));
    }
    engine.branch(&engine.point("b").unwrap()).run().unwrap();
    let all = engine.query().task_stats(None).unwrap();
    let of = |name: &str| all.iter().find(|task| task.task == name).unwrap();
    let numbers = |name| (of(name).lineages, of(name).checkpoints, of(name).events);
    assert_eq!(numbers("a"), (1, 3, 13));
    assert_eq!(numbers("b"), (2, 1, 6));
    assert_eq!(numbers("c"), (1, 0, 1));
    let ana: Vec<_> = engine.query().task_stats(Some("ana")).unwrap();
    assert_eq!(ana.iter().map(|task| task.task.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    let stats = engine.store().stats().unwrap();
    let sum = |of: fn(&milepost::query::TaskStats) -> u64| all.iter().map(of).sum::<u64>();
    assert_eq!(stats.events, sum(|task| task.events));
    assert_eq!(stats.checkpoints, sum(|task| task.checkpoints));
    assert_eq!(stats.event_bytes, sum(|task| task.bytes));
    assert_eq!(stats.lineages, sum(|task| task.lineages));
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    let after = engine.query().task_stats(Some("ana")).unwrap();
    assert_eq!((after[0].checkpoints, after[0].events), (1, 1));
    assert!(after[0].bytes < of("a").bytes);
}
