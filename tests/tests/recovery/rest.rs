//! The rest: settings, the lock, and interrupted work. One test for each row.

use std::fs;
use std::path::Path;

use milepost::store::Outcome;
use milepost::{Engine, ErrorKind, Options};
use milepost_codec::SEGMENT_HEADER_LEN;
use milepost_tests::folder;

use crate::recovery::check::{Whole, beside, clean, goes_on, opens, repairs, same};
use crate::recovery::cuts::killed;
use crate::recovery::stores::{
    Damage, Stores, archive, cut, flip_commit, frames, last_commit, name, options, segments,
    zero_from,
};

const REPAIRED: Outcome = Outcome::Repaired;

#[test]
fn damaged_or_missing_settings_are_repaired_from_the_other_file() {
    let stores = Stores::make();
    for store in ["closed", "killed"] {
        let before = Whole::of_store(&stores.path(store));
        for (file, other) in [("store", "store.copy"), ("store.copy", "store")] {
            let damages: [Damage; 4] = [
                ("missing", |file| fs::remove_file(file).unwrap()),
                ("empty", |file| cut(file, 0)),
                ("a bit", |file| folder::flip(file, 40).unwrap()),
                ("cut", |file| cut(file, 60)),
            ];
            for (how, damage) in damages {
                if store == "killed" && how != "missing" {
                    continue;
                }
                let root = stores.copy(store, "store");
                damage(&root.join(file));
                let both = beside(&root);
                let how = format!("{store}: {file}: {how}");
                opens(&root, &before, &[(REPAIRED, file)], &how);
                let engine = Engine::open(&both, options()).unwrap();
                drop(engine);
                let (one, two) = (fs::read(both.join(file)), fs::read(both.join(other)));
                assert_eq!(one.unwrap(), two.unwrap(), "{how}");
            }
        }
    }
}

/// Both files damaged; and nothing is made or changed.
#[test]
fn settings_that_are_damaged_or_missing_in_both_files_are_refused() {
    let stores = Stores::make();
    let killed = stores.path("killed");
    let before = Whole::of_store(&killed);
    let both = |root: &Path, what: &dyn Fn(&Path)| {
        what(&root.join("store"));
        what(&root.join("store.copy"));
    };
    let damage = |root: &Path| both(root, &|file| folder::flip(file, 40).unwrap());
    crate::recovery::check::refuses(&killed, &before, damage, "store", "damaged");
    let damage = |root: &Path| both(root, &|file| fs::remove_file(file).unwrap());
    let root = stores.copy("killed", "store");
    damage(&root);
    let error = Engine::open(&root, options()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid),
        "no other store is made over it: {error}"
    );
    for file in ["store", "store.copy"] {
        assert!(!root.join(file).exists());
        fs::copy(killed.join(file), root.join(file)).unwrap();
    }
    opens(&root, &before, &[], "taken back");
}

#[test]
fn a_store_of_a_newer_version_is_unsupported() {
    let (_dir, root) = killed(1);
    for name in ["store", "store.copy"] {
        let text = fs::read_to_string(root.join(name)).unwrap();
        let newer = text.replace("\"milepost\": 1", "\"milepost\": 2");
        assert_ne!(newer, text);
        let newer = newer.replace("\"check\": \"", "\"check\": \"of another form");
        fs::write(root.join(name), newer).unwrap();
    }
    let error = Engine::open(&root, Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn settings_that_are_damaged_in_both_files_are_corrupt() {
    let (_dir, root) = killed(1);
    fs::write(root.join("store"), "").unwrap();
    fs::write(root.join("store.copy"), "{}").unwrap();
    let error = Engine::open(&root, Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("store"), "{error}");
}
#[test]
fn a_store_is_open_once_and_the_second_is_told_where() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let error = Engine::open(&root, Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let pid = std::process::id().to_string();
    assert!(error.to_string().contains(&pid), "{error}");
    engine.start_task("t", "ana").unwrap();
    drop(engine);
    Engine::open(&root, Options::default()).unwrap();
}

#[test]
fn making_a_store_that_was_interrupted_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("made");
    drop(Engine::open(&made, options()).unwrap());
    // In the order they are made; the first of the settings makes it a store.
    let steps =
        ["lock", "journal/", "archive/", "packs/", ".gitignore.0123456789abcdef.tmp", ".gitignore"];
    for n in 0..=steps.len() {
        for tmp in [None, Some("store.copy.0123456789abcdef.tmp")] {
            let root = dir.path().join(format!("made to step {n} {tmp:?}"));
            fs::create_dir(&root).unwrap();
            for step in steps[..n].iter().copied().chain(tmp) {
                if step.ends_with('/') {
                    fs::create_dir(root.join(step)).unwrap();
                } else {
                    fs::write(root.join(step), "*").unwrap();
                }
            }
            let engine = Engine::open(&root, options()).unwrap();
            assert!(engine.store().report().findings.is_empty(), "step {n}");
            engine.start_task("essay", "ana").unwrap();
            engine.start_task("tuning", "ben").unwrap();
            clean(&engine, "made");
            goes_on(engine, &root, &format!("step {n}"));
        }
    }
    // The copy is written first: with it alone, it is a store whose other file is missing.
    let root = dir.path().join("the copy only");
    folder::copy(&made, &root).unwrap();
    for name in ["store", "acked", "sled-closed"] {
        fs::remove_file(root.join(name)).unwrap();
    }
    fs::remove_dir_all(root.join("sled")).unwrap();
    for segment in segments(&root) {
        fs::remove_file(segment).unwrap();
    }
    fs::write(root.join("store.0123456789abcdef.tmp"), "").unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    assert_eq!(engine.store().report().findings.len(), 1);
    engine.start_task("essay", "ana").unwrap();
    engine.start_task("tuning", "ben").unwrap();
    goes_on(engine, &root, "the copy only");
}

#[test]
fn a_store_whose_first_commit_was_not_written_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("made");
    drop(Engine::open(&root, options()).unwrap());
    // Killed before the first commit: sled is there, and a spare; and `acked` says that there is
    // none.
    for segment in segments(&root) {
        fs::remove_file(segment).unwrap();
    }
    fs::remove_file(root.join("sled-closed")).unwrap();
    fs::remove_dir_all(root.join("sled")).unwrap();
    fs::remove_file(root.join("acked")).unwrap();
    fs::write(root.join("journal/spare-new-0.seg"), vec![0; 256 << 10]).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    assert!(engine.store().report().findings.is_empty(), "{:?}", engine.store().report());
    engine.start_task("essay", "ana").unwrap();
    engine.start_task("tuning", "ben").unwrap();
    goes_on(engine, &root, "no commit");
}

#[test]
fn a_restore_that_was_interrupted_is_there_whole_or_not_at_all() {
    let stores = Stores::make();
    let work = stores.copy("killed", "work");
    let engine = Engine::open(&work, options()).unwrap();
    let before = Whole::of(&engine);
    let point = engine.point("essay@draft-1").unwrap();
    engine.restore(&point).description("interrupted").run().unwrap();
    let restored = Whole::of(&engine);
    let root = stores.path("whole");
    folder::copy_store(&work, &root).unwrap();
    drop(engine);
    let older = stores.path("killed").join("acked");
    let segment = segments(&root)[2].clone();
    let all = frames(&segment);
    assert_eq!(all.len(), 1, "it is one commit");
    for at in (SEGMENT_HEADER_LEN..=all[0].end).step_by(24).chain([all[0].end]) {
        let torn = beside(&root);
        fs::copy(&older, torn.join("acked")).unwrap();
        zero_from(&torn.join("journal").join(name(&segment)), at);
        let engine = Engine::open(&torn, options()).unwrap();
        // The frame may end in zeros of its own, or of its padding.
        let now = Whole::of(&engine);
        let whole = at + 16 >= all[0].end && now == restored;
        let expected = if whole { &restored } else { &before };
        same(&now, expected, &format!("cut at {at}"));
        clean(&engine, &format!("cut at {at}"));
    }
    opens(&root, &restored, &[], "whole");
}

#[test]
fn archiving_that_was_interrupted_is_done_again() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("held"));
    let done = stores.copy("held", "done");
    Engine::open(&done, options()).unwrap().close().unwrap();
    assert_eq!(archive(&done).len(), 5, "both segments were archived");
    // Written under a temporary name; in its place, and the segment not released; released under
    // the spare name.
    let root = stores.copy("held", "store");
    let tmp = archive(&done)[3].with_extension("mpa.0123456789abcdef.tmp");
    let half = fs::read(&archive(&done)[3]).unwrap();
    fs::write(root.join("archive").join(name(&tmp)), &half[..half.len() / 2]).unwrap();
    opens(&root, &before, &[], "beside its place");
    let root = stores.copy("held", "store");
    fs::copy(&archive(&done)[3], root.join("archive/0000000004.mpa")).unwrap();
    opens(&root, &before, &[], "in its place");
    let root = stores.copy("held", "store");
    fs::copy(&archive(&done)[3], root.join("archive/0000000004.mpa")).unwrap();
    let segment = segments(&root)[0].clone();
    fs::rename(&segment, segment.with_file_name("spare-0000000004.seg")).unwrap();
    opens(&root, &before, &[], "recycled");
}

#[test]
fn a_repair_that_was_interrupted_is_done_again() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("held"));
    let damaged = stores.copy("held", "damaged");
    let segment = segments(&damaged)[0].clone();
    flip_commit(&segment, last_commit(&segment) - 3);
    fs::remove_file(&archive(&damaged)[1]).unwrap();
    let mended = stores.copy("damaged", "mended");
    let engine = Engine::open(&mended, options()).unwrap();
    let copy = stores.path("copy");
    folder::copy_store(&mended, &copy).unwrap();
    drop(engine);
    let place = name(&segment);
    // Nothing but the hole; and then the file for what the journal held, with the journal there
    // still.
    let root = stores.copy("damaged", "store");
    let hole = archive(&copy)[1].clone();
    fs::copy(&hole, root.join("archive").join(name(&hole))).unwrap();
    repairs(&root, &before, &[(REPAIRED, &place)], &[], "the hole");
    for file in &archive(&copy)[3..] {
        let root = stores.copy("damaged", "store");
        for file in archive(&copy).iter().take_while(|f| *f <= file) {
            fs::copy(file, root.join("archive").join(name(file))).unwrap();
        }
        repairs(&root, &before, &[(REPAIRED, &place)], &[], "the journal's");
        // And with the first segment away already.
        let root = stores.copy("damaged", "store");
        for file in archive(&copy) {
            fs::copy(&file, root.join("archive").join(name(&file))).unwrap();
        }
        fs::create_dir(root.join("damaged")).unwrap();
        fs::rename(&segments(&root)[0], root.join("damaged").join(&place)).unwrap();
        let engine = Engine::open(&root, options()).unwrap();
        same(&Whole::of(&engine), &before, "the first is away");
        clean(&engine, "the first is away");
        goes_on(engine, &root, "the first is away");
    }
}

#[test]
fn the_lock_of_a_process_that_died_goes_on() {
    let stores = Stores::make();
    for store in ["killed", "closed"] {
        let before = Whole::of_store(&stores.path(store));
        for text in ["4294967294 1700000000000000\n", "", "no pid", "1 1\n"] {
            let root = stores.copy(store, "store");
            fs::write(root.join("lock"), text).unwrap();
            opens(&root, &before, &[], &format!("{store}, lock {text:?}"));
        }
        let root = stores.copy(store, "store");
        fs::remove_file(root.join("lock")).unwrap();
        opens(&root, &before, &[], &format!("{store}, no lock"));
    }
}

#[test]
fn the_lock_of_a_process_that_lives_is_unavailable_with_its_pid_and_since_when() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let clock = std::sync::Arc::new(milepost::clock::ManualClock::at(1_700_000_123_000_000));
    let engine = Engine::open(&root, options().clock(clock)).unwrap();
    let error = Engine::open(&root, options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let pid = std::process::id().to_string();
    assert!(error.to_string().contains(&pid), "{error}");
    assert!(error.to_string().contains("since 2023-11-14 22:15:23 UTC"), "{error}");
    engine.start_task("t", "ana").unwrap();
}
