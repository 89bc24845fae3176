//! Histories written anew with care: every check, chain hash, fork, head and entry fits. Without a
//! key nothing in the store shows it; an anchor does.

use std::fs;
use std::path::Path;

use milepost::ids::TaskNo;
use milepost::{Body, Engine, LineageId, Options, StoreKey};
use milepost_codec::{Control, LogId};
use milepost_tests::folder;

use crate::tamper::forge::History;
use crate::tamper::stores::{
    ESSAY, SECRET, Store, TUNING, assert_corrupt, faults, message, open_anchored, options, said,
};

type Edit = (&'static str, fn(&mut History));

/// Edits of history.
const EDITS: [Edit; 12] = [
    ("content changed", |history| {
        history.log(ESSAY)[3].set(&message("never said").into());
    }),
    ("tail cut off", |history| {
        let len = history.commits.len();
        history.commits.truncate(len - 6);
    }),
    ("an event removed", |history| {
        let last = history.log(ESSAY).len() - 4;
        history.remove(ESSAY, last);
    }),
    ("two events swapped", |history| {
        let all = history.log(TUNING);
        let (one, other) = (all[5].clone(), all[7].clone());
        *history.log(TUNING)[5] = other;
        *history.log(TUNING)[7] = one;
    }),
    ("an event forged in", |history| {
        let last = history.log(ESSAY).len() - 4;
        let mut record = history.log(ESSAY)[last].clone();
        record.set(&message("never said").into());
        history.insert(ESSAY, last, record);
    }),
    ("one copied from another task", |history| {
        let last = history.log(ESSAY).len() - 4;
        let record = history.log(TUNING)[3].clone();
        history.insert(ESSAY, last, record);
    }),
    ("one copied from another lineage", |history| {
        let aside = LogId::lineage(TaskNo(1), LineageId(1));
        let record = history.log(ESSAY)[3].clone();
        history.insert(aside, 0, record);
    }),
    ("the time of an event changed", |history| {
        history.log(ESSAY)[3].header.time_us = 5;
    }),
    ("a label changed", |history| {
        for record in history.log(TUNING) {
            if let Body::CheckpointMarked(mut mark) = record.body() {
                mark.label = Some("forged".into());
                record.set(&mark.into());
            }
        }
    }),
    ("an owner changed", |history| {
        for record in history.log(LogId::STORE) {
            if let Control::TaskOpened(mut opened) = record.control() {
                opened.user = "eve".into();
                record.set_control(&opened.into());
            }
        }
    }),
    ("a parent changed", |history| {
        let aside = LogId::lineage(TaskNo(1), LineageId(1));
        if let Body::LineageOpened(mut opened) = history.log(aside)[0].body() {
            opened.parent.as_mut().unwrap().offset -= 4;
            history.log(aside)[0].set(&opened.into());
        }
        for record in history.log(LogId::control(TaskNo(1))) {
            if let Control::LineageRegistered(mut registered) = record.control()
                && let Some(parent) = &mut registered.parent
            {
                parent.offset -= 4;
                record.set_control(&registered.into());
            }
        }
    }),
    ("a lineage taken away", |history| {
        let aside = LogId::lineage(TaskNo(1), LineageId(1));
        let control = LogId::control(TaskNo(1));
        for commit in &mut history.commits {
            commit.retain(|group| group.log != aside);
        }
        let place = history.log(control).iter().position(|record| {
            matches!(record.control(), Control::LineageRegistered(r) if r.parent.is_some())
        });
        history.remove(control, place.unwrap());
    }),
];

/// The forger opens and closes the store: nothing is left of how it was made.
fn settle(root: &Path) {
    let engine = Engine::open(root, Options::default()).unwrap();
    engine.close().unwrap();
    let _ = fs::remove_dir_all(root.join("damaged"));
}

#[test]
fn a_history_that_is_written_again_as_it_was_is_the_same() {
    // Else the tests below would find the forger's mistakes, not the edits.
    let store = Store::make(None);
    let root = store.copy("same");
    History::read(&root).write(&root);
    settle(&root);
    let engine = store.open(&root).unwrap();
    assert!(engine.store().report().findings.is_empty());
    assert!(faults(&engine).is_empty(), "{:?}", faults(&engine));
    assert!(engine.integrity().verify_anchor(&store.anchor).unwrap().is_empty());
}

#[test]
fn a_history_that_was_forged_with_care_shows_against_an_anchor_only() {
    let store = Store::make(None);
    for (how, edit) in EDITS {
        let root = store.copy("forged");
        let mut history = History::read(&root);
        edit(&mut history);
        history.write(&root);
        let engine = store.open(&root).unwrap_or_else(|e| panic!("{how}: {e}"));
        // At first sled is missing, which is a finding; a forger would open the store once.
        assert_eq!(engine.store().report().findings.len(), 1, "{how}");
        engine.close().unwrap();
        settle(&root);
        let engine = store.open(&root).unwrap();
        assert!(engine.store().report().findings.is_empty(), "{how}: not found by opening");
        assert!(faults(&engine).is_empty(), "{how}: not found by verify: {:?}", faults(&engine));
        let found = engine.integrity().verify_anchor(&store.anchor).unwrap();
        assert!(!found.is_empty(), "{how}: found by the anchor");
        engine.close().unwrap();
        let error = open_anchored(&store, &root, &store.anchor).expect_err(how);
        assert_corrupt(&error, how);
        assert!(error.to_string().contains("anchored"), "{how}: {error}");
        // A new anchor is not written over it.
        let kept = fs::read_to_string(root.with_extension("anchor")).unwrap();
        assert_eq!(kept, store.anchor.to_json(), "{how}");
        store.open(&root).unwrap();
    }
}

#[test]
fn the_anchor_names_the_log_that_is_not_as_it_was() {
    let store = Store::make(None);
    let places = |edit: &str| {
        let root = store.copy("forged");
        let mut history = History::read(&root);
        EDITS.iter().find(|(how, _)| *how == edit).unwrap().1(&mut history);
        history.write(&root);
        let engine = store.open(&root).unwrap();
        let found = engine.integrity().verify_anchor(&store.anchor).unwrap();
        found.into_iter().map(|fault| fault.place).collect::<Vec<_>>()
    };
    let only = |log: LogId| vec![log.to_string()];
    assert_eq!(places("two events swapped"), only(TUNING));
    assert_eq!(places("an event forged in"), only(ESSAY));
    assert_eq!(places("an owner changed"), only(LogId::STORE));
}

#[test]
fn what_is_forged_behind_the_anchor_is_growth_to_it() {
    // An anchor covers what was there when it was taken. Without a key, nothing covers the rest.
    let store = Store::make(None);
    let root = store.copy("forged");
    let mut history = History::read(&root);
    let last = history.log(ESSAY).len() - 1;
    let mut record = history.log(ESSAY)[3].clone();
    record.set(&message("never said").into());
    history.insert(ESSAY, last, record);
    history.write(&root);
    settle(&root);
    let engine = store.open(&root).unwrap();
    assert!(engine.store().report().findings.is_empty());
    assert!(faults(&engine).is_empty(), "{:?}", faults(&engine));
    assert!(engine.integrity().verify_anchor(&store.anchor).unwrap().is_empty());
    let said = said(&engine, "essay").unwrap();
    assert!(said.last().unwrap().contains("never said"), "{said:?}");
    // The next anchor that is kept tells.
    let kept = store.open(&store.copy("right")).unwrap();
    kept.task("essay").unwrap().append(message("on")).unwrap();
    let anchor = kept.integrity().anchor().unwrap();
    assert_eq!(engine.integrity().verify_anchor(&anchor).unwrap().len(), 1);
}

#[test]
fn a_task_taken_away_shows_against_an_anchor_only() {
    let store = Store::make(None);
    let root = store.copy("forged");
    let mut history = History::read(&root);
    for commit in &mut history.commits {
        commit.retain(|group| group.log.task != TaskNo(2));
    }
    let opened = history.log(LogId::STORE).len() - 1;
    history.remove(LogId::STORE, opened);
    history.write(&root);
    settle(&root);
    let engine = store.open(&root).unwrap();
    assert!(engine.store().report().findings.is_empty());
    assert!(engine.task("tuning").is_err(), "it is gone");
    assert!(faults(&engine).is_empty(), "{:?}", faults(&engine));
    let found = engine.integrity().verify_anchor(&store.anchor).unwrap();
    // The store's log, and all of the task's.
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().any(|fault| fault.message.contains("taken away")));
}

#[test]
fn an_old_version_of_the_whole_store_shows_against_an_anchor_only() {
    for key in [None, Some(StoreKey::new(&SECRET))] {
        let store = Store::make(key);
        let older = store.dir.path().join("older");
        let engine = store.open(&older).unwrap();
        assert!(engine.store().report().findings.is_empty());
        assert!(faults(&engine).is_empty());
        let found = engine.integrity().verify_anchor(&store.anchor).unwrap();
        assert!(found.iter().any(|f| f.message.contains("put back")), "{found:?}");
        engine.close().unwrap();
        let error = open_anchored(&store, &older, &store.anchor).unwrap_err();
        assert_corrupt(&error, "older");
    }
}

#[test]
fn an_old_version_that_went_on_shows_against_an_anchor() {
    // The history is longer than the anchored one, and differs from it.
    let store = Store::make(None);
    let older = store.dir.path().join("older");
    let engine = store.open(&older).unwrap();
    for n in 0..60 {
        let task = engine.task("essay").unwrap();
        task.append(message(&format!("another {n}"))).unwrap();
        let task = engine.task("tuning").unwrap();
        task.append(message(&format!("another {n}"))).unwrap();
    }
    let found = engine.integrity().verify_anchor(&store.anchor).unwrap();
    let essay = found.iter().find(|fault| fault.place == ESSAY.to_string());
    assert!(essay.unwrap().message.contains("as anchored"), "{found:?}");
}

#[test]
fn a_history_that_was_forged_without_the_key_does_not_open() {
    let store = Store::make(Some(StoreKey::new(&SECRET)));
    for (how, edit) in EDITS {
        let root = store.copy("forged");
        let mut history = History::read(&root);
        edit(&mut history);
        history.write(&root);
        let error = store.open(&root).expect_err(how);
        assert_corrupt(&error, how);
        assert!(error.detail().is_some(), "I4: {how}: {error}");
        // With the witness gone as well.
        fs::remove_file(root.join("acked")).unwrap();
        match store.open(&root) {
            Err(error) => assert_corrupt(&error, how),
            Ok(engine) => {
                // No frame is believed: an empty store, which an anchor tells from the real one.
                assert!(engine.task("essay").is_err(), "{how}: nothing forged is there");
                assert!(
                    !engine.integrity().verify_anchor(&store.anchor).unwrap().is_empty(),
                    "{how}"
                );
            }
        }
    }
}

#[test]
fn a_forged_copy_beside_a_keyed_sled_is_replaced_by_what_sled_has() {
    let store = Store::make(Some(StoreKey::new(&SECRET)));
    let before = said(&store.open(&store.copy("before")).unwrap(), "essay").unwrap();
    let root = store.copy("forged");
    let mut history = History::read(&root);
    history.log(ESSAY)[3].set(&message("never said").into());
    let sled = root.with_extension("sled");
    folder::copy(&root.join("sled"), &sled).unwrap();
    history.write(&root);
    folder::copy(&sled, &root.join("sled")).unwrap();
    let engine = store.open(&root).unwrap();
    assert!(!engine.store().report().findings.is_empty(), "it is told");
    assert_eq!(said(&engine, "essay").unwrap(), before);
    assert!(faults(&engine).is_empty(), "{:?}", faults(&engine));
    assert!(engine.integrity().verify_anchor(&store.anchor).unwrap().is_empty());
}

#[test]
fn a_tail_cut_off_between_two_frames_shows_against_an_anchor_only_key_or_not() {
    use milepost_codec::{AckWatermark, FrameHeader, SEGMENT_HEADER_LEN};
    for key in [None, Some(StoreKey::new(&SECRET))] {
        let store = Store::make(key);
        let root = store.copy("cut");
        fs::remove_dir_all(root.join("sled")).unwrap();
        let segments = folder::files(&root.join("journal"), ".seg").unwrap();
        let segment = segments.last().unwrap();
        let mut bytes = fs::read(segment).unwrap();
        let (mut at, mut ends) = (SEGMENT_HEADER_LEN, Vec::new());
        while let Ok((frame, _)) = FrameHeader::read(&bytes[at..], key.as_ref()) {
            at += frame.stride() as usize;
            ends.push((frame.seq, at));
        }
        let (seq, end) = ends[ends.len() - 8];
        bytes[end..].fill(0);
        fs::write(segment, bytes).unwrap();
        let acked = AckWatermark::decode(&fs::read(root.join("acked")).unwrap()).unwrap();
        let witness = AckWatermark { seq, ..acked };
        fs::write(root.join("acked"), witness.encode()).unwrap();
        let engine = store.open(&root).unwrap();
        engine.close().unwrap();
        let engine = Engine::open(&root, options(key)).unwrap();
        assert!(engine.store().report().findings.is_empty());
        assert!(faults(&engine).is_empty(), "{:?}", faults(&engine));
        let found = engine.integrity().verify_anchor(&store.anchor).unwrap();
        assert!(found.iter().any(|f| f.message.contains("cut off")), "{found:?}");
    }
}
