//! A store that no process has open.

use milepost::store::Outcome;
use milepost::{Engine, Options};

use super::{answers, assert_same, filled, key, set_writable, to_read, tree};

#[test]
fn a_store_that_is_opened_for_reading_answers_as_before_and_no_byte_of_it_changes() {
    for keyed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("store");
        let with = |options: Options| match keyed {
            true => options.key(key()),
            false => options,
        };
        filled(&root, with(Options::default()));
        let before = {
            let engine = Engine::open(&root, with(Options::default())).unwrap();
            let said = answers(&engine);
            engine.close().unwrap();
            said
        };
        set_writable(&root, false);
        let files = tree(&root);
        let engine = Engine::open(&root, with(to_read())).unwrap();
        assert!(engine.store().report().findings.is_empty(), "{:?}", engine.store().report());
        let said = answers(&engine);
        assert_same(&said, &before);
        let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{report:?}");
        assert!(report.frames > 0 && report.chunks > 0, "{report:?}");
        assert!(engine.integrity().verify_states(None).unwrap().is_empty());
        engine.close().unwrap();
        assert!(tree(&root) == files, "something in the store changed");
        set_writable(&root, true);
        // It is as good as before.
        let engine = Engine::open(&root, with(Options::default())).unwrap();
        assert_same(&answers(&engine), &before);
    }
}

#[test]
fn two_processes_may_look_at_a_store_at_once_and_one_may_take_it_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    filled(&root, Options::default());
    let first = Engine::open(&root, to_read()).unwrap();
    let second = Engine::open(&root, to_read()).unwrap();
    let writer = Engine::open(&root, Options::default()).unwrap();
    let third = Engine::open(&root, to_read()).unwrap();
    assert_same(&answers(&first), &answers(&second));
    assert_same(&answers(&first), &answers(&third));
    writer.close().unwrap();
}

#[test]
fn a_store_that_is_not_there_or_has_another_key_is_refused_and_none_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let error = Engine::open(&root, to_read()).unwrap_err();
    assert_eq!(error.kind(), milepost::ErrorKind::NotFound, "{error}");
    assert!(!root.exists());
    filled(&root, Options::default().key(key()));
    let error = Engine::open(&root, to_read()).unwrap_err();
    assert!(error.to_string().contains("has a key"), "{error}");
    let other = to_read().key(milepost::StoreKey::new(&[8; 32]));
    let error = Engine::open(&root, other).unwrap_err();
    assert!(error.to_string().contains("another key"), "{error}");
}

#[test]
fn a_store_in_which_nothing_was_committed_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    Engine::open(&root, Options::default()).unwrap().close().unwrap();
    for name in ["journal", "archive"] {
        for file in std::fs::read_dir(root.join(name)).unwrap() {
            std::fs::remove_file(file.unwrap().path()).unwrap();
        }
    }
    std::fs::remove_file(root.join("acked")).unwrap();
    let files = tree(&root);
    let engine = Engine::open(&root, to_read()).unwrap();
    assert!(engine.query().tasks(&milepost::query::TaskQuery::default()).unwrap().items.is_empty());
    engine.close().unwrap();
    assert!(tree(&root) == files);
}

#[test]
fn settings_that_one_copy_lost_are_told_of_and_left() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    filled(&root, Options::default());
    std::fs::remove_file(root.join("store.copy")).unwrap();
    let files = tree(&root);
    let engine = Engine::open(&root, to_read()).unwrap();
    let findings = &engine.store().report().findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].outcome, Outcome::Left);
    engine.close().unwrap();
    assert!(tree(&root) == files);
}

#[test]
fn an_anchor_is_compared_with_and_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let (root, anchor) = (dir.path().join("store"), dir.path().join("anchor"));
    filled(&root, Options::default());
    let options = || to_read().anchor_to(&anchor);
    Engine::open(&root, options()).unwrap().close().unwrap();
    assert!(!anchor.exists(), "it was written");
    let other = dir.path().join("other");
    filled(&other, Options::default().anchor_to(&anchor));
    let before = std::fs::read(&anchor).unwrap();
    let error = Engine::open(&root, options()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the anchor is of store"), "{text}");
    assert_eq!(std::fs::read(&anchor).unwrap(), before);
}
