//! An exported task is the same in another store.

use milepost::events::{MarkCause, Message};
use milepost::retention::Policy;
use milepost::{Append, Engine, Mark, Options};
use milepost_tests::bodies;
use milepost_tests::folder;
use milepost_tests::seed::{number, seed};

use super::{assert_clean, assert_same, given, import, said, world};

#[test]
fn a_random_store_is_the_same_in_an_empty_one() {
    let first = seed();
    for n in 0..number("MILEPOST_CASES").unwrap_or(24) {
        let seed = first.wrapping_add(n);
        println!("case {seed}");
        let from = world(seed, false);
        let to = Engine::in_memory(Options::default()).unwrap();
        import(&to, &given(&from.engine, false)).unwrap();
        assert_same(&from.engine, &to);
        assert_clean(&to);
    }
}

#[test]
fn a_store_in_a_folder_is_the_same_behind_a_kill_and_a_compaction() {
    let first = seed();
    for n in 0..number("MILEPOST_CASES").unwrap_or(6) {
        let seed = first.wrapping_add(n);
        println!("case {seed}");
        let from = world(seed, true);
        let dir = tempfile::tempdir().unwrap();
        let to = Engine::open(dir.path().join("to"), Options::default()).unwrap();
        import(&to, &given(&from.engine, false)).unwrap();
        folder::copy_store(&dir.path().join("to"), &dir.path().join("killed")).unwrap();
        let killed = Engine::open(dir.path().join("killed"), Options::default()).unwrap();
        assert_same(&from.engine, &killed);
        assert_clean(&killed);
        to.retention().compact(&mut |_| {}).unwrap();
        assert_same(&from.engine, &to);
        assert_clean(&to);
        to.close().unwrap();
        // The content of sled is rebuilt from the archive.
        std::fs::remove_dir_all(dir.path().join("to/sled")).ok();
        std::fs::remove_dir_all(dir.path().join("to/sled.next")).ok();
        std::fs::remove_file(dir.path().join("to/sled-now")).ok();
        let to = Engine::open(dir.path().join("to"), Options::default()).unwrap();
        assert_same(&from.engine, &to);
        assert_clean(&to);
    }
}

/// A store with three tasks that have all there is.
fn everything(engine: &Engine) {
    let essay = engine.start_task("essay", "ana").unwrap();
    let long = bodies::text(1, 600 << 10);
    essay.append(Message::text("user", &long)).unwrap();
    let metadata = milepost::Json::new(r#"{"score": 1.50}"#).unwrap();
    let mark = Mark::new().label("draft").alias("a-1").alias("a-2");
    let mark = mark.metadata(metadata).cause(MarkCause::Step);
    let draft = essay.checkpoint(mark).unwrap();
    engine.retention().pin(&draft.id, Some("the first")).unwrap();
    let secret = Append::from(Message::text("user", "a name")).key("k");
    let said = essay.append(secret).unwrap();
    let point = essay.point(said.first).unwrap();
    engine.retention().erase(&point, None).unwrap();
    let back =
        engine.restore(&engine.point("essay@draft").unwrap()).description("again").run().unwrap();
    back.append(Message::text("assistant", "better")).unwrap();
    engine.branch(&engine.point("essay/0@2").unwrap()).description("aside").run().unwrap();
    engine.undo("essay").run().unwrap();

    let tuning = engine.start_task("tuning", "ben").unwrap();
    for step in 0..5 {
        let text = bodies::text(step, 50_000);
        tuning.append(Append::from(Message::text("user", &text)).key(format!("s{step}"))).unwrap();
        tuning.checkpoint(Mark::new().label(format!("step-{step}"))).unwrap();
    }
    let policy = Policy::new().keep(2).task("tuning");
    let plan = engine.retention().plan(&policy).unwrap();
    engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
    assert!(tuning.lineages().unwrap()[0].begin > 0, "it is trimmed");
    engine.start_task("empty", "ben").unwrap();
}

#[test]
fn three_tasks_with_all_there_is_come_back_identical() {
    let dir = tempfile::tempdir().unwrap();
    let open = |name: &str| Engine::open(dir.path().join(name), Options::default()).unwrap();
    let from = open("from");
    everything(&from);
    let to = open("to");
    import(&to, &given(&from, true)).unwrap();
    assert_same(&from, &to);
    assert_clean(&to);
    // They continue like the originals: earlier keys are known, and steps can be undone.
    let again = Append::from(Message::text("user", &bodies::text(0, 50_000))).key("s0");
    assert!(to.task("tuning").unwrap().append(again).unwrap().repeated);
    let task = to.undo("essay").run();
    assert_eq!(task.is_ok(), from.undo("essay").run().is_ok());
    for engine in [&from, &to] {
        let task = engine.task("essay").unwrap();
        task.append(Message::text("user", "more")).unwrap();
    }
    assert_eq!(said(&from).len(), said(&to).len());
    to.store().drain().unwrap();
    assert_clean(&to);
    to.close().unwrap();
    assert_clean(&open("to"));
}

#[test]
fn a_store_with_a_key_goes_into_one_with_the_same_key() {
    let key = || milepost::StoreKey::new(&[7; 32]);
    let keyed = || Engine::in_memory(Options::default().key(key())).unwrap();
    let (from, to) = (keyed(), keyed());
    everything(&from);
    import(&to, &given(&from, false)).unwrap();
    assert_same(&from, &to);
    assert_clean(&to);
}
