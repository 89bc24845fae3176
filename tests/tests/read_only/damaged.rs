//! Stores whose files are damaged: a read-only opening shows the intact part, or names the next
//! step.

use milepost::{Engine, ErrorKind, Options};
use milepost_tests::folder;

use super::{answers, assert_same, filled, to_read, tree};

#[test]
fn damage_in_sled_does_not_matter() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    filled(&root, Options::default());
    let before = {
        let engine = Engine::open(&root, Options::default()).unwrap();
        let said = answers(&engine);
        engine.close().unwrap();
        said
    };
    folder::remove_sled(&root).unwrap();
    std::fs::write(root.join("sled-suspect"), b"").unwrap();
    let files = tree(&root);
    let engine = Engine::open(&root, to_read()).unwrap();
    assert_same(&answers(&engine), &before);
    engine.close().unwrap();
    assert!(tree(&root) == files);
}

#[test]
fn damage_in_the_archive_is_not_believed_and_the_error_says_what_repairs_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    filled(&root, Options::default());
    let archive = folder::files(&root.join("archive"), ".mpa").unwrap();
    let file = &archive[0];
    let len = std::fs::metadata(file).unwrap().len();
    for at in [5, 4096 + (len - 4096) / 2, len - 20] {
        folder::flip(file, at).unwrap();
        let files = tree(&root);
        let error = Engine::open(&root, to_read()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{at}: {error}");
        assert!(error.to_string().contains("open it for writing"), "{at}: {error}");
        assert!(tree(&root) == files);
        folder::flip(file, at).unwrap();
    }
    Engine::open(&root, to_read()).unwrap().close().unwrap();
}

#[test]
fn a_chunk_that_is_damaged_is_an_error_of_what_needs_it_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let one = task.append(milepost_tests::bodies::bytes(1, 300_000)).unwrap();
    let other = task.append(milepost_tests::bodies::bytes(2, 300_000)).unwrap();
    engine.close().unwrap();
    let pack = folder::files(&root.join("packs"), ".pack").unwrap().remove(0);
    folder::flip_both(&pack, 1000).unwrap();
    let files = tree(&root);
    let engine = Engine::open(&root, to_read()).unwrap();
    let task = engine.task("t").unwrap();
    let read = |at: u64| task.read(at..=at).unwrap().next().unwrap();
    assert_eq!(read(one.first).unwrap_err().kind(), ErrorKind::Corrupt);
    read(other.first).unwrap();
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(!report.is_clean());
    engine.close().unwrap();
    assert!(tree(&root) == files);
}

#[test]
fn commits_that_were_acknowledged_and_are_gone_refuse_the_look() {
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("store"), dir.path().join("copy"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..50 {
        task.append(milepost_tests::bodies::text_message(n)).unwrap();
    }
    folder::copy_store(&root, &copy).unwrap();
    engine.close().unwrap();
    let segment = folder::files(&copy.join("journal"), ".seg").unwrap().pop().unwrap();
    let bytes = std::fs::read(&segment).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    folder::flip(&segment, end as u64 - 40).unwrap();
    let files = tree(&copy);
    let error = Engine::open(&copy, to_read()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("acknowledged"), "{error}");
    assert!(tree(&copy) == files);
}
