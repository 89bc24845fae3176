//! sled: one test for each row.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use milepost::events::Message;
use milepost::query::TaskQuery;
use milepost::store::Outcome;
use milepost::{Append, Engine, ErrorKind};
use milepost_tests::{bodies, folder};

use crate::recovery::check::{Cases, Whole, clean, files, goes_on, opens, refuses, repairs, same};
use crate::recovery::stores::{
    Damage, GENERATIONS, Stores, archive, cut, flip_commit, last_commit, name, open_sled, options,
    segments,
};

const REPAIRED: Outcome = Outcome::Repaired;

/// Opens a store whose sled is rebuilt: the old one is kept as it was.
fn built_anew(root: &Path, before: &Whole, how: &str) {
    opens(root, before, &[(REPAIRED, "sled")], how);
    // sled may have tried to open it, which changes its files.
    assert!(root.join("damaged/sled").is_dir(), "{how}: it is kept");
}

/// Does each damage to a path of each store, and opens it.
fn each_is_built_anew(damages: &[Damage], path: &str) {
    let stores = Stores::make();
    for store in ["closed", "killed", "held"] {
        let before = Whole::of_store(&stores.path(store));
        for (how, damage) in damages {
            let root = stores.copy(store, "store");
            damage(&root.join(path));
            built_anew(&root, &before, &format!("{store}, {how}"));
        }
    }
}

#[test]
fn a_sled_that_was_closed_cleanly_goes_on() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let before = Whole::of_store(&root);
    let sled = files(&root.join("sled"));
    let engine = Engine::open(&root, options()).unwrap();
    assert!(engine.store().report().findings.is_empty());
    assert_eq!(engine.store().report().recovered, 0);
    same(&Whole::of(&engine), &before, "closed");
    engine.close().unwrap();
    assert_eq!(files(&root.join("sled")).len(), sled.len());
    opens(&root, &before, &[], "closed");
}

#[test]
fn a_sled_behind_the_journal_goes_on_with_what_journal_and_archive_bring() {
    let stores = Stores::make();
    let root = stores.copy("killed", "store");
    let before = Whole::of_store(&root);
    opens(&root, &before, &[], "behind the journal");
    // The sled of a kill before the last archive file was written.
    for n in [1, 2] {
        let root = stores.copy("killed", "store");
        fs::remove_dir_all(root.join("sled")).unwrap();
        folder::copy(&stores.generation(n).join("sled"), &root.join("sled")).unwrap();
        let how = format!("behind the archive, generation {n}");
        opens(&root, &before, &[], &how);
    }
}

#[test]
fn a_sled_ahead_of_the_journal_repairs_it() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("held"));
    let mut cases = Cases::default();
    for witness in ["right", "older"] {
        let root = stores.copy("held", "store");
        if witness == "older" {
            fs::copy(stores.path("closed").join("acked"), root.join("acked")).unwrap();
        }
        let segment = segments(&root)[1].clone();
        cut(&segment, 5000);
        let how = format!("the witness is {witness}");
        cases.case(witness, || {
            repairs(&root, &before, &[(REPAIRED, "journal")], &[], &how);
        });
    }
    cases.finish();
}

#[test]
fn a_sled_that_fails_or_panics_is_built_anew() {
    let damages: [Damage; 3] = [
        ("its settings are other bytes", |sled| {
            fs::write(sled.join("conf"), "no settings").unwrap();
        }),
        ("its file is full of other bytes", |sled| {
            let len = fs::read(sled.join("db")).unwrap().len();
            fs::write(sled.join("db"), vec![0x5A; len]).unwrap();
        }),
        ("its file is empty", |sled| cut(&sled.join("db"), 0)),
    ];
    each_is_built_anew(&damages, "sled");
}

#[test]
fn a_sled_that_lost_entries_without_an_error_is_built_anew() {
    let stores = Stores::make();
    for store in ["closed", "killed", "held"] {
        let before = Whole::of_store(&stores.path(store));
        // A block, a head, an activation, a lineage, a mark and a key: each by its kind.
        let all = store == "closed";
        let kinds: &[u8] = if all { &[1, 2, 20, 21, 30, 40] } else { &[1, 30] };
        for kind in kinds.iter().copied() {
            let root = stores.copy(store, "store");
            let db = open_sled(&root.join("sled")).unwrap();
            let (key, _) = db.scan_prefix([kind]).next_back().unwrap().unwrap();
            db.remove(key).unwrap();
            db.flush().unwrap();
            drop(db);
            built_anew(&root, &before, &format!("{store}, kind {kind}"));
        }
        let root = stores.copy(store, "store");
        let db = open_sled(&root.join("sled")).unwrap();
        db.insert([30, 0, 0, 0, 0, 0, 0, 0, 9], b"forged").unwrap();
        db.flush().unwrap();
        drop(db);
        built_anew(&root, &before, &format!("{store}, one more"));
    }
}

/// Takes an entry out of sled. The store is as if it had been closed so: sled
/// loses entries without an error where a read fails while it is opened, or its file has changed.
fn lose_one_behind_a_clean_stop(root: &Path, prefix: &[u8]) {
    let db = open_sled(&root.join("sled")).unwrap();
    let (key, _) = db.scan_prefix(prefix).next().unwrap().unwrap();
    db.remove(key).unwrap();
    db.flush().unwrap();
    drop(db);
    note_closed(root);
}

/// Writes the record of sled's files anew, as at a close.
fn note_closed(root: &Path) {
    let mut noted = Vec::new();
    for (path, content) in files(&root.join("sled")) {
        let hash = blake3::hash(&content).to_hex();
        let hash = (content.len() <= 1 << 20).then(|| hash.to_string());
        let name = name(&path);
        noted.push(serde_json::json!({"name": name, "len": content.len(), "hash": hash}));
    }
    noted.sort_by_key(|file| file["name"].to_string());
    fs::write(root.join("sled-closed"), serde_json::to_vec(&noted).unwrap()).unwrap();
}

#[test]
fn entries_of_the_index_that_were_lost_behind_a_clean_stop_are_missed_by_the_opening() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("closed"));
    // A head, a task's name, a task, a tally, a lineage, an activation, a mark and what finds it.
    for kind in [2, 16, 17, 18, 20, 21, 30, 31, 32, 33, 34] {
        let root = stores.copy("closed", "store");
        lose_one_behind_a_clean_stop(&root, &[kind]);
        built_anew(&root, &before, &format!("kind {kind}"));
    }
}

#[test]
fn a_key_that_was_lost_behind_a_clean_stop_does_not_make_an_append_happen_twice() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let before = Whole::of_store(&root);
    lose_one_behind_a_clean_stop(&root, &[40]);
    let engine = Engine::open(&root, options()).unwrap();
    assert_eq!(engine.store().report().findings, []);
    let mut refused = 0;
    for name in ["essay", "tuning"] {
        let task = engine.task(name).unwrap();
        for n in 0..=GENERATIONS {
            let again = Append::from(Message::text("user", "again")).key(format!("key {n}"));
            match task.append(again.actor("ui")) {
                Ok(done) => assert!(done.repeated),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt);
                    refused += 1;
                }
            }
        }
    }
    assert_eq!(refused, 1);
    same(&Whole::of(&engine), &before, "nothing was appended");
    drop(engine);
    built_anew(&root, &before, "a key");
}

#[test]
fn a_block_that_was_lost_behind_a_clean_stop_is_corrupt_where_it_is_read() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let before = Whole::of_store(&root);
    // An entry of the first task.
    lose_one_behind_a_clean_stop(&root, &[1, 0, 0, 0, 0, 0, 0, 0, 1]);
    let engine = Engine::open(&root, options()).unwrap();
    let mut refused = 0;
    for info in engine.query().tasks(&TaskQuery::default()).unwrap().items {
        for lineage in engine.task(&info.id).unwrap().lineages().unwrap() {
            let task = engine.task(&info.id).unwrap();
            let read = task.lineage_named(lineage.id).unwrap();
            let events: Vec<_> = read.read(..).unwrap().collect();
            let whole = events.iter().filter(|event| event.is_ok()).count() as u64;
            let error = events.into_iter().find_map(Result::err);
            match error {
                Some(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
                None => assert_eq!(whole, lineage.head.next),
            }
            refused += u64::from(whole < lineage.head.next);
        }
    }
    assert!(refused > 0);
    engine.close().unwrap();
    built_anew(&root, &before, "a block");
}

#[test]
fn damage_in_a_block_that_is_met_while_reading_is_corrupt_and_the_next_opening_repairs_it() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.task("essay").unwrap();
    let at = task.append(bodies::bytes(8888, 2000)).unwrap().first;
    // For a file over 1 MiB the close records the length only.
    for n in 0..24 {
        task.append(bodies::bytes(n, 100 << 10)).unwrap();
    }
    let before = Whole::of(&engine);
    drop(task);
    engine.close().unwrap();
    let blocks = root.join("sled/blocks/0000000001.blocks");
    let mut bytes = fs::read(&blocks).unwrap();
    assert!(bytes.len() > 1 << 20);
    let random = milepost_tests::seed::Random::new(8888).bytes(2000);
    let needle = &random[100..132];
    let found = bytes.windows(needle.len()).position(|bytes| bytes == needle);
    bytes[found.expect("the event is in a block") + 7] ^= 0x10;
    fs::write(&blocks, bytes).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    let findings = &engine.store().report().findings;
    assert!(findings.is_empty(), "after a clean stop no block is read: {findings:?}");
    let task = engine.task("essay").unwrap();
    let read = task.read(at..).unwrap().next().unwrap();
    let error = read.expect_err("I4");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "I4: {error}");
    assert!(error.to_string().contains("open the store again"), "{error}");
    assert!(error.to_string().contains("0000000001.blocks at byte"), "{error}");
    assert!(error.detail().is_some(), "I4: it says where: {error}");
    assert!(root.join("sled-suspect").exists());
    drop(task);
    let _ = engine.close();
    // As another process finds it.
    let again = stores.path("again");
    folder::copy(&root, &again).unwrap();
    built_anew(&again, &before, "met while reading");
    assert!(!again.join("sled-suspect").exists());
}

#[test]
fn a_block_file_that_is_cut_missing_or_damaged_inside_is_built_anew() {
    let damages: [Damage; 4] = [
        ("cut", |file| cut(file, fs::metadata(file).unwrap().len() as usize - 1)),
        ("empty", |file| cut(file, 0)),
        ("missing", |file| fs::remove_file(file).unwrap()),
        ("a byte of a block is another", |file| {
            let mut bytes = fs::read(file).unwrap();
            bytes[5000] ^= 1;
            fs::write(file, bytes).unwrap();
        }),
    ];
    each_is_built_anew(&damages, "sled/blocks/0000000001.blocks");
}

#[test]
fn an_older_position_than_that_of_the_close_is_built_anew_and_cuts_no_blocks() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("closed"));
    let root = stores.copy("closed", "store");
    let blocks = root.join("sled/blocks/0000000001.blocks");
    let mut longer = fs::read(&blocks).unwrap();
    longer.extend_from_within(longer.len() - 100..);
    fs::write(&blocks, &longer).unwrap();
    note_closed(&root);
    built_anew(&root, &before, "blocks after the position");
    let kept = fs::read(root.join("damaged/sled/blocks/0000000001.blocks")).unwrap();
    assert!(kept == longer, "the blocks were cut");
    assert!(!root.join("sled-suspect").exists());
}

#[test]
fn what_an_interrupted_round_leaves_after_the_blocks_makes_room() {
    let stores = Stores::make();
    for store in ["closed", "killed", "held"] {
        let root = stores.copy(store, "store");
        let before = Whole::of_store(&stores.path(store));
        let blocks = root.join("sled/blocks/0000000001.blocks");
        let whole = fs::read(&blocks).unwrap();
        let mut longer = whole.clone();
        longer.extend_from_slice(&whole[whole.len() - 100..]);
        fs::write(&blocks, longer).unwrap();
        fs::write(root.join("sled/blocks/0000000002.blocks"), &whole).unwrap();
        opens(&root, &before, &[], store);
        assert!(!root.join("sled/blocks/0000000002.blocks").exists());
    }
}

#[test]
fn a_sled_that_is_missing_or_empty_is_built_anew() {
    let stores = Stores::make();
    for store in ["closed", "killed", "held"] {
        let before = Whole::of_store(&stores.path(store));
        for empty in [false, true] {
            let root = stores.copy(store, "store");
            fs::remove_dir_all(root.join("sled")).unwrap();
            if empty {
                fs::create_dir(root.join("sled")).unwrap();
            }
            let how = format!("{store}, empty {empty}");
            opens(&root, &before, &[(REPAIRED, "sled")], &how);
        }
    }
}

#[test]
fn a_sled_of_another_store_is_built_anew() {
    let (stores, other) = (Stores::make(), Stores::make());
    for store in ["closed", "killed", "held"] {
        let before = Whole::of_store(&stores.path(store));
        let root = stores.copy(store, "store");
        fs::remove_dir_all(root.join("sled")).unwrap();
        folder::copy(&other.path(store).join("sled"), &root.join("sled")).unwrap();
        built_anew(&root, &before, store);
    }
}

#[test]
fn an_older_copy_of_sled_goes_on_as_one_behind_the_journal() {
    let stores = Stores::make();
    for store in ["closed", "killed", "held"] {
        let before = Whole::of_store(&stores.path(store));
        for n in [1, 3] {
            let root = stores.copy(store, "store");
            fs::remove_dir_all(root.join("sled")).unwrap();
            folder::copy(&stores.generation(n).join("sled"), &root.join("sled")).unwrap();
            opens(&root, &before, &[], &format!("{store}, generation {n}"));
        }
    }
}

/// Copies a store while threads of sled may write to it. A copy whose files are of different
/// moments differs from the remains of a kill: sled may be unable to read it.
fn copy_of_one_moment(from: &Path, to: &Path) {
    for _ in 0..1000 {
        // A file may go while it is copied.
        if folder::copy(from, to).is_ok() && files(from) == files(to) {
            return;
        }
        fs::remove_dir_all(to).unwrap();
    }
    panic!("sled never stops to write");
}

/// A store of many commits without sled, as a kill during a rebuild leaves it.
fn interrupted(stores: &Stores, after: u64) -> (PathBuf, Whole) {
    let root = stores.copy("closed", "many");
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.task("essay").unwrap();
    for n in 0..700 {
        task.append(bodies::bytes(n, 4000)).unwrap();
    }
    let before = Whole::of(&engine);
    drop(task);
    engine.close().unwrap();
    fs::write(root.join("sled-suspect"), "").unwrap();
    let (from, to) = (root.clone(), stores.path("interrupted"));
    let taken = std::sync::Arc::new(AtomicBool::new(false));
    let (copy, done) = (to.clone(), std::sync::Arc::clone(&taken));
    let told = options().backlog_bytes(1 << 20).on_progress(move |progress| {
        assert!(progress.done <= progress.all);
        if progress.done >= after && !done.swap(true, Ordering::Relaxed) {
            copy_of_one_moment(&from, &copy);
        }
    });
    let engine = Engine::open(&root, told).unwrap();
    assert!(taken.load(Ordering::Relaxed), "it was told on the way");
    clean(&engine, "not interrupted");
    (to, before)
}

#[test]
fn a_sled_whose_building_was_interrupted_is_built_on() {
    let stores = Stores::make();
    for after in [1, 400] {
        let (root, before) = interrupted(&stores, after);
        assert!(root.join("damaged/sled/db").exists());
        let engine = Engine::open(&root, options()).unwrap();
        same(&Whole::of(&engine), &before, "interrupted");
        clean(&engine, "interrupted");
        goes_on(engine, &root, "interrupted");
        fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn a_sled_whose_building_was_interrupted_goes_on_without_a_finding_where_none_was_suspect() {
    let stores = Stores::make();
    let (root, before) = interrupted(&stores, 400);
    fs::remove_file(root.join("sled-suspect")).unwrap();
    opens(&root, &before, &[], "interrupted");
}

#[test]
fn a_sled_that_is_lost_with_a_commit_of_the_journal_is_refused_and_put_back() {
    let stores = Stores::make();
    let held = stores.path("held");
    let before = Whole::of_store(&held);
    let seq = last_commit(&segments(&held)[0]) - 2;
    let damage = |root: &Path| {
        fs::remove_dir_all(root.join("sled")).unwrap();
        fs::create_dir(root.join("sled")).unwrap();
        flip_commit(&segments(root)[0], seq);
    };
    let place = name(&segments(&held)[0]);
    refuses(&held, &before, damage, &place, "no sled");
    assert_eq!(archive(&held).len(), 3);
}

#[test]
fn a_second_folder_that_a_compaction_had_not_finished_is_removed() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let before = Whole::of_store(&root);
    fs::create_dir(root.join("sled.next")).unwrap();
    fs::write(root.join("sled.next/db"), b"half of it").unwrap();
    opens(&root, &before, &[], "not finished");
    assert!(root.join("sled").exists() && !root.join("sled.next").exists());
}

#[test]
fn a_second_folder_that_a_compaction_had_switched_to_is_gone_on_with() {
    let stores = Stores::make();
    // The one before may be there still, removed by half, or gone.
    for left in ["", "half", "whole"] {
        let root = stores.copy("closed", &format!("store-{left}"));
        let before = Whole::of_store(&root);
        folder::copy(&root.join("sled"), &root.join("sled.next")).unwrap();
        match left {
            "" => fs::remove_dir_all(root.join("sled")).unwrap(),
            "half" => fs::remove_file(root.join("sled/db")).unwrap(),
            _ => {}
        }
        fs::write(root.join("sled-now"), b"sled.next").unwrap();
        opens(&root, &before, &[], left);
        assert!(root.join("sled/db").exists());
        assert!(!root.join("sled.next").exists() && !root.join("sled-now").exists());
    }
}

#[test]
fn a_sled_of_a_version_that_lays_its_entries_out_in_another_way_is_built_anew() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let before = Whole::of_store(&root);
    let db = open_sled(&root.join("sled")).unwrap();
    let mut applied = db.get([3]).unwrap().unwrap().to_vec();
    let at = applied.len() - 44;
    applied[at] += 1;
    db.insert([3], applied).unwrap();
    db.flush().unwrap();
    drop(db);
    built_anew(&root, &before, "another layout");
}
