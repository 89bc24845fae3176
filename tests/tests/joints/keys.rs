//! Idempotency keys with cleanup, compaction and damage: the same request is never accepted twice
//! (I14).

use std::cell::Cell;
use std::fs;
use std::path::Path;

use milepost::calls::Conditions;
use milepost::events::Message;
use milepost::retention::{CompactionStep, Policy};
use milepost::{Append, Engine, ErrorKind, LineageId, Mark, Options, Task};
use milepost_tests::{bodies, folder};

fn keyed(n: u32) -> Append {
    Append::from(Message::text("user", &format!("pay {n} to bob"))).key(format!("payment-{n}"))
}

/// Makes a task whose keys are on a lineage that a cleanup drops.
fn paid(engine: &Engine, payments: u32) -> Task {
    let task = engine.start_task("essay", "ana").unwrap();
    for n in 0..payments {
        task.append(keyed(n)).unwrap();
    }
    let end = task.head().unwrap().next;
    let task = engine.restore(&task.point(end).unwrap()).run().unwrap();
    task.append(Message::text("user", "m")).unwrap();
    for _ in 0..3 {
        task.checkpoint(Mark::new()).unwrap();
    }
    assert!(task.append(keyed(17)).unwrap().repeated);
    task
}

#[test]
fn keys_stay_used_where_a_cleanup_runs_during_a_compaction() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = paid(&engine, 300);
    let done = Cell::new(false);
    let compacted = engine.retention().compact(&mut |step| {
        if let (CompactionStep::Sled(..), false) = (step, done.get()) {
            done.set(true);
            let policy = Policy::new().keep(1).undo(0);
            let report = engine.retention().retain(&policy).unwrap();
            assert!(report.tasks.iter().any(|task| !task.trimmed.is_empty()), "{report:?}");
        }
    });
    compacted.unwrap();
    assert!(done.get());
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.faults.first());
    assert!(task.append(keyed(17)).unwrap().repeated);
}

/// A store that was trimmed, closed, and whose packs were damaged then.
fn trimmed_and_damaged(root: &Path) {
    let engine = Engine::open(root, Options::default()).unwrap();
    paid(&engine, 20);
    engine.retention().retain(&Policy::new().keep(1).undo(0)).unwrap();
    let task = engine.task("essay").unwrap();
    assert!(task.append(keyed(17)).unwrap().repeated, "the base keeps the key");
    drop(task);
    engine.close().unwrap();
    for path in folder::files(&root.join("packs"), "").unwrap() {
        let mut bytes = fs::read(&path).unwrap();
        for byte in bytes.iter_mut().skip(60).step_by(40) {
            *byte ^= 1;
        }
        fs::write(&path, bytes).unwrap();
    }
}

/// No key is taken for a new one on a lineage whose base is damaged.
fn no_key_is_new(task: &Task) {
    for n in [17, 1000] {
        let error = task.append(keyed(n)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("packs"), "{error}");
    }
}

#[test]
fn a_compaction_frees_no_key_where_a_base_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    trimmed_and_damaged(&root);
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.task("essay").unwrap();
    no_key_is_new(&task);
    let compacted = engine.retention().compact(&mut |_| {});
    assert_eq!(compacted.unwrap_err().kind(), ErrorKind::Corrupt);
    no_key_is_new(&task);
}

#[test]
fn a_rebuild_of_the_index_frees_no_key_where_a_base_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    trimmed_and_damaged(&root);
    fs::write(root.join("sled-suspect"), b"").unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.task("essay").unwrap();
    no_key_is_new(&task);
    // Appends without a key, and tasks that were not trimmed, are as before.
    task.append(Message::text("user", "on")).unwrap();
    let other = engine.start_task("other", "ana").unwrap();
    assert!(!other.append(keyed(17)).unwrap().repeated);
}

#[test]
fn an_append_with_a_checkpoint_is_repeated_also_once_the_checkpoint_was_removed() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let step = || keyed(1).mark(Mark::new().label("step-1"));
    let done = task.append(step()).unwrap();
    assert_eq!(task.append(step()).unwrap().checkpoint, done.checkpoint);
    engine.retention().unmark(&[done.checkpoint.unwrap()]).unwrap();
    let again = task.append(step()).unwrap();
    assert!(again.repeated);
    assert_eq!((again.first, again.head, again.checkpoint), (done.first, done.head, None));
    for other in [Mark::new().label("step-2"), Mark::new()] {
        let error = task.append(keyed(1).mark(other)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
}

/// Appends keyed messages, marks a checkpoint and has a cleanup trim all before it.
fn trimmed_at_once(engine: &Engine, task: &Task, payments: std::ops::Range<u32>) {
    let tickets = payments.map(|n| task.submit(keyed(n)).unwrap());
    let tickets: Vec<_> = tickets.collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    for _ in 0..2 {
        task.checkpoint(Mark::new()).unwrap();
    }
    let report = engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert!(report.tasks.iter().any(|task| !task.trimmed.is_empty()));
}

fn is_repeated(task: &Task, n: u32) -> bool {
    task.append(keyed(n)).unwrap().repeated
}

#[test]
fn keys_are_found_in_every_list_of_every_base() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    // A list has about 3,000 keys: some in a base of several lists, then short lists.
    for payments in [0..9000, 9000..9010, 9010..9020, 9020..13_000] {
        trimmed_at_once(&engine, &task, payments);
        assert!(is_repeated(&task, 17));
    }
    let compacted = |engine: &Engine| {
        engine.retention().compact(&mut |_| {}).unwrap();
        let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{:?}", report.faults.first());
    };
    compacted(&engine);
    engine.close().unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.task("essay").unwrap();
    let head = task.head().unwrap();
    for n in (0..13_000).step_by(97).chain(8990..9030) {
        assert!(is_repeated(&task, n), "{n}");
    }
    let other = Append::from(Message::text("user", "another")).key("payment-9015");
    assert_eq!(task.append(other).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(task.head().unwrap(), head);
    assert!(!is_repeated(&task, 13_000));
    compacted(&engine);
}

#[test]
fn a_base_keeps_at_least_the_newest_keys_of_its_window() {
    let options = Options::default().key_window(5000);
    let engine = Engine::in_memory(options).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    trimmed_at_once(&engine, &task, 0..20_000);
    assert!((15_000..20_000).step_by(61).all(|n| is_repeated(&task, n)));
    assert!(!is_repeated(&task, 17), "older than the window");
    // Newer keys take the places of older ones, a whole list at a time.
    for payments in [20_000..20_010, 20_010..24_000] {
        trimmed_at_once(&engine, &task, payments);
    }
    assert!((19_001..24_000).step_by(61).all(|n| is_repeated(&task, n)));
    assert!(!is_repeated(&task, 15_000), "older than the window");
}

#[test]
fn a_branch_is_known_by_its_key_after_a_kill_in_a_copy_and_where_threads_ask_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("store"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(keyed(1)).unwrap();
    let branch = |engine: &Engine, task: &str| {
        let point = engine.point(&format!("{task}/0@2")).unwrap();
        let once = Conditions::new().key("b");
        let opened = engine.branch(&point).description("another way").conditions(once);
        opened.run().map(|lineage| lineage.id())
    };
    let ids: Vec<LineageId> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| branch(&engine, "t").unwrap())).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(ids, [LineageId(1); 8]);
    folder::copy_store(&root, &killed).unwrap();
    let engine = Engine::open(&killed, Options::default()).unwrap();
    assert_eq!(branch(&engine, "t").unwrap(), LineageId(1));
    engine.copy_task("t", "copy").unwrap();
    assert_eq!(branch(&engine, "copy").unwrap(), LineageId(1));
    // The branch has the key, so an append to it under the same one is refused.
    let opened = engine.task("t").unwrap().lineage_named(LineageId(1)).unwrap();
    let used = opened.append(Append::from(bodies::bytes(1, 40)).key("b")).unwrap_err();
    assert_eq!(used.kind(), ErrorKind::Conflict, "{used}");
    assert_eq!(engine.task("t").unwrap().lineages().unwrap().len(), 2);
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}
