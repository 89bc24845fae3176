//! Packs whose copies are damaged too, and torn ends. One test for each row.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::events::Message;
use milepost::store::{Finding, Outcome};
use milepost::{Engine, ErrorKind, Options};
use milepost_tests::{bodies, folder};

use crate::recovery::check::{Whole, opens};
use crate::recovery::stores::{Stores, cut, name, options};

fn pack(root: &Path) -> PathBuf {
    let all = folder::files(&root.join("packs"), ".pack").unwrap();
    assert_eq!(all.len(), 1);
    all[0].clone()
}

#[test]
fn a_torn_end_of_a_pack_is_dropped() {
    let stores = Stores::make();
    for store in ["closed", "killed"] {
        let before = Whole::of_store(&stores.path(store));
        for len in [1, 40, 1000] {
            let root = stores.copy(store, "store");
            let pack = pack(&root);
            let mut bytes = fs::read(&pack).unwrap();
            let end = bytes.len();
            bytes.extend_from_within(..len);
            fs::write(&pack, &bytes).unwrap();
            let how = format!("{store}, {len} bytes of a chunk");
            let place = format!("{} at byte {end}", name(&pack));
            opens(&root, &before, &[(Outcome::Dropped, &place)], &how);
            let kept = root.join(format!("damaged/{}.from-{end}", name(&pack)));
            assert_eq!(fs::read(kept).unwrap(), bytes[end..], "{how}");
        }
    }
}

/// A store with snapshots whose states are in the pack: the closed store, and its last state.
fn with_snapshots(dir: &Path) -> (PathBuf, milepost::RunState) {
    let root = dir.join("snapshots");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    engine.start_task("tuning", "ben").unwrap();
    task.append(bodies::bytes(1, 300 << 10)).unwrap();
    for n in 0..600 {
        task.append(Message::text("assistant", &bodies::text(n, 500))).unwrap();
    }
    let state = engine.run_state(&engine.point("essay").unwrap()).unwrap();
    drop(task);
    engine.close().unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert!(engine.store().stats().unwrap().snapshots > 0);
    engine.close().unwrap();
    (root, state)
}

/// Checks the answers of a store with a damaged pack: all but the event in it, and a state from
/// events.
fn answers_all_but_the_large_event(root: &Path, state: &milepost::RunState, finding: Option<&str>) {
    let engine = Engine::open(root, Options::default()).unwrap();
    let findings = &engine.store().report().findings;
    match (finding, &findings[..]) {
        (None, []) => {}
        (Some(place), [one]) => {
            assert_eq!(one.outcome, Outcome::Left);
            assert!(one.place.contains(place), "{one:?}");
        }
        _ => panic!("{findings:?}"),
    }
    let task = engine.task("essay").unwrap();
    let large = task.read(1..2).unwrap().next().unwrap().unwrap_err();
    assert_eq!(large.kind(), ErrorKind::Corrupt, "I4: {large}");
    assert!(large.detail().is_some(), "I4: {large}");
    for (offset, event) in (2..).zip(task.read(2..).unwrap()) {
        assert_eq!(event.unwrap().offset, offset);
    }
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(!report.is_clean(), "I4: verify tells of it");
    // The event that cannot be read is of no kind that changes the state, but it has to be read: a
    // state that no snapshot gives is damaged as well.
    let point = engine.point("essay").unwrap();
    match engine.run_state(&point) {
        Ok(now) => assert_eq!(&now, state, "I5"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "I4: {error}"),
    }
    // New events can be stored and read.
    let again = task.append(bodies::bytes(1, 300 << 10)).unwrap();
    let event = task.read(again.first..).unwrap().next().unwrap().unwrap();
    assert_eq!(event.body, Some(bodies::bytes(1, 300 << 10)));
}

#[test]
fn a_pack_and_its_copy_that_are_damaged_go_on_and_only_that_chunk_is_corrupt() {
    let dir = tempfile::tempdir().unwrap();
    let (root, state) = with_snapshots(dir.path());
    folder::flip_both(&pack(&root), 1000).unwrap();
    answers_all_but_the_large_event(&root, &state, None);
}

#[test]
fn a_snapshot_in_a_damaged_pack_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let (root, state) = with_snapshots(dir.path());
    let pack = pack(&root);
    // All behind the large event: chunks of states, and snapshots.
    let mut bytes = fs::read(&pack).unwrap();
    let mut from = 0;
    while from < 290 << 10 {
        let len = u32::from_le_bytes(bytes[from + 12..from + 16].try_into().unwrap());
        from += 64 + len as usize;
    }
    assert!(from + 1000 < bytes.len());
    for at in (from + 100..bytes.len()).step_by(500) {
        bytes[at] ^= 0x10;
    }
    fs::write(folder::copy_of(&pack), &bytes).unwrap();
    fs::write(&pack, bytes).unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert!(engine.store().report().findings.is_empty());
    let point = engine.point("essay").unwrap();
    assert_eq!(engine.run_state(&point).unwrap(), state, "I5");
    let task = engine.task("essay").unwrap();
    for n in 0..800 {
        task.append(Message::text("assistant", &bodies::text(n, 500))).unwrap();
    }
    let state = engine.run_state(&engine.point("essay").unwrap()).unwrap();
    drop(task);
    // Closing waits for the snapshots.
    engine.close().unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert!(engine.store().report().findings.is_empty());
    let point = engine.point("essay").unwrap();
    assert_eq!(engine.run_state(&point).unwrap(), state, "I5");
}

#[test]
fn a_pack_that_is_missing_or_cut_goes_on_with_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, state) = with_snapshots(dir.path());
    for len in [0, 100_000] {
        let root = dir.path().join(format!("cut to {len}"));
        folder::copy(&whole, &root).unwrap();
        let pack = pack(&root);
        cut(&pack, len);
        cut(&folder::copy_of(&pack), len);
        answers_all_but_the_large_event(&root, &state, Some(&name(&pack)));
    }
    let root = dir.path().join("missing");
    folder::copy(&whole, &root).unwrap();
    let pack = pack(&root);
    fs::remove_file(&pack).unwrap();
    fs::remove_file(folder::copy_of(&pack)).unwrap();
    answers_all_but_the_large_event(&root, &state, Some(&name(&pack)));
}

#[test]
fn a_missing_pack_is_told_at_each_opening_and_no_size_is_made_up() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let len = fs::read(pack(&root)).unwrap().len();
    fs::remove_file(folder::copy_of(&pack(&root))).unwrap();
    fs::remove_file(pack(&root)).unwrap();
    for again in 0..4 {
        let engine = Engine::open(&root, options()).unwrap();
        let findings = &engine.store().report().findings;
        assert_eq!(findings.len(), 1, "opening {again}: {findings:?}");
        let Finding { place, message, .. } = &findings[0];
        assert!(place.contains("0000000001.pack"), "{again}: {place}");
        let size = message.split(' ').find_map(|word| word.parse().ok());
        let told = size.is_none_or(|size: usize| size == len);
        assert!(told, "opening {again}: it had {len}: {message}");
        if again == 1 {
            // The next pack is begun.
            let task = engine.task("essay").unwrap();
            task.append(bodies::bytes(7, 300 << 10)).unwrap();
        }
        engine.close().unwrap();
    }
}

#[test]
fn damage_in_a_pack_takes_no_other_chunk_with_it() {
    // Opening cut a pack at the first entry that was damaged, and with it all after it.
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("open"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default().snapshots(false)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..3 {
        task.append(bodies::bytes(n, 300 << 10)).unwrap();
    }
    folder::copy_store(&root, &copy).unwrap();
    engine.close().unwrap();
    let pack = folder::files(&copy.join("packs"), ".pack").unwrap();
    let len = fs::metadata(&pack[0]).unwrap().len();
    folder::flip(&pack[0], 100_000).unwrap();
    fs::remove_dir_all(copy.join("sled")).unwrap();
    let engine = Engine::open(&copy, Options::default().snapshots(false)).unwrap();
    assert_eq!(fs::metadata(&pack[0]).unwrap().len(), len, "nothing was cut");
    let task = engine.task("t").unwrap();
    let first = task.read(1..2).unwrap().next().unwrap();
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Corrupt, "I4");
    for n in 1..3 {
        let event = task.read(n + 1..=n + 1).unwrap().next().unwrap().unwrap();
        assert_eq!(event.body, Some(bodies::bytes(n, 300 << 10)));
    }
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(!report.is_clean(), "I4: verify reports it");
    // The same body again is stored anew, since the old chunk cannot be read.
    let again = task.append(bodies::bytes(0, 300 << 10)).unwrap();
    let event = task.read(again.first..).unwrap().next().unwrap().unwrap();
    assert_eq!(event.body, Some(bodies::bytes(0, 300 << 10)), "I1");
}
