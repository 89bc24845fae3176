//! The journal's files and witness: the second half of its table.

use std::fs;
use std::path::Path;

use milepost::events::Message;
use milepost::store::Outcome;
use milepost::{Engine, Mark};
use milepost_tests::seed::{Random, seed};
use milepost_tests::{bodies, folder};

use crate::recovery::check::{
    Cases, Whole, beside, changes, clean, files, goes_on, opens, refuses, repairs, same,
};
use crate::recovery::stores::{
    Damage, Stores, acked, archive, cut, frame_of, last_commit, name, options, segments, zero_from,
};

const REPAIRED: Outcome = Outcome::Repaired;

#[test]
fn a_missing_segment_is_repaired_where_sled_holds_its_commits() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("held"));
    for n in [0, 1] {
        let root = stores.copy("held", "store");
        fs::remove_file(&segments(&root)[n]).unwrap();
        let place = ["archive", "journal"][n];
        let how = format!("segment {n} missing");
        repairs(&root, &before, &[(REPAIRED, place)], &[], &how);
    }
}

#[test]
fn a_missing_segment_that_is_not_applied_is_refused() {
    let stores = Stores::make();
    let killed = stores.path("killed");
    let before = Whole::of_store(&killed);
    for n in [0, 1] {
        let damage = |root: &Path| fs::remove_file(&segments(root)[n]).unwrap();
        // The place is the missing range of commits, next to the remaining segment.
        let place = format!("{} at byte", name(&segments(&killed)[1 - n]));
        let how = format!("segment {n} missing");
        refuses(&killed, &before, damage, &place, &how);
    }
}

#[test]
fn all_segments_missing_are_repaired_where_sled_holds_all_that_was_acknowledged() {
    let stores = Stores::make();
    for store in ["held", "closed"] {
        let before = Whole::of_store(&stores.path(store));
        let root = stores.copy(store, "store");
        for segment in segments(&root) {
            fs::remove_file(segment).unwrap();
        }
        repairs(&root, &before, &[(REPAIRED, "journal")], &[], store);
    }
    let killed = stores.path("killed");
    let before = Whole::of_store(&killed);
    let damage = |root: &Path| {
        for segment in segments(root) {
            fs::remove_file(segment).unwrap();
        }
    };
    refuses(&killed, &before, damage, "journal", "killed");
}

#[test]
fn segments_with_swapped_names_are_repaired() {
    let stores = Stores::make();
    let mut cases = Cases::default();
    for store in ["killed", "held"] {
        let before = Whole::of_store(&stores.path(store));
        let root = stores.copy(store, "store");
        let all = segments(&root);
        let beside = all[0].with_extension("other");
        fs::rename(&all[0], &beside).unwrap();
        fs::rename(&all[1], &all[0]).unwrap();
        fs::rename(&beside, &all[1]).unwrap();
        cases.case(store, || {
            let engine = Engine::open(&root, options()).unwrap();
            let findings = engine.store().report().findings.clone();
            same(&Whole::of(&engine), &before, store);
            clean(&engine, store);
            goes_on(engine, &root, store);
            // One for each of them, or one for both.
            assert!(!findings.is_empty(), "a wrong name is told");
            for found in findings {
                assert_eq!(found.outcome, REPAIRED, "{found:?}");
                assert!(found.place.contains("journal"), "{found:?}");
            }
        });
    }
    cases.finish();
}

#[test]
fn a_segment_under_the_name_of_the_next_one_is_not_written_over() {
    // The next segment takes the number after the highest in a header, whatever names there are:
    // its file was moved over the one with that name, and with it went commits that only it had.
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let segment = segments(&root)[0].clone();
    fs::rename(&segment, segment.with_file_name("0000000005.seg")).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.task("essay").unwrap();
    task.append(Message::text("user", "only in the journal")).unwrap();
    task.append(vec![bodies::bytes(1, 200 << 10), bodies::bytes(2, 200 << 10)]).unwrap();
    let before = Whole::of(&engine);
    let killed = stores.path("later");
    folder::copy_store(&root, &killed).unwrap();
    drop(task);
    drop(engine);
    opens(&killed, &before, &[], "killed after the next segment was begun");
}

#[test]
fn a_segment_of_another_store_is_moved_away_or_refused_where_commits_are_missing() {
    let stores = Stores::make();
    let other = Stores::make();
    let foreign = segments(&other.path("killed"))[0].clone();
    let mut cases = Cases::default();
    // Next to the others, and in the place of one whose commits sled holds.
    let places = [("killed", "0000000099.seg"), ("closed", "0000000099.seg")];
    for (store, place) in places.into_iter().chain([("held", "0000000004.seg")]) {
        let before = Whole::of_store(&stores.path(store));
        let root = stores.copy(store, "store");
        let segment = root.join("journal").join(place);
        fs::copy(&foreign, &segment).unwrap();
        let how = format!("{store}, {place}");
        cases.case(&how, || {
            repairs(&root, &before, &[(REPAIRED, place)], &[&segment], &how);
            assert!(!segment.exists(), "{how}: it is gone");
        });
    }
    let killed = stores.path("killed");
    let before = Whole::of_store(&killed);
    let damage = |root: &Path| {
        fs::copy(&foreign, &segments(root)[0]).unwrap();
    };
    refuses(&killed, &before, damage, ".seg", "in place of commits");
    cases.finish();
}

#[test]
fn an_older_copy_of_a_segment_is_as_a_tail_that_was_cut() {
    let stores = Stores::make();
    let older = segments(&stores.path("closed"))[0].clone();
    let put = |root: &Path| {
        let _ = fs::copy(&older, &segments(root)[0]).unwrap();
    };
    let before = Whole::of_store(&stores.path("held"));
    let root = stores.copy("held", "store");
    put(&root);
    let place = name(&segments(&root)[1]);
    repairs(&root, &before, &[(REPAIRED, &place)], &[], "older");
    let killed = stores.path("killed");
    let before = Whole::of_store(&killed);
    refuses(&killed, &before, put, &name(&older), "older");
}

/// Killed when the archive had both segments and neither was removed yet, or only one of them, in
/// whatever order their removal came to the disk.
#[test]
fn a_segment_that_the_archive_has_all_of_says_nothing_about_the_end() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("held"));
    let done = stores.copy("held", "done");
    Engine::open(&done, options()).unwrap().close().unwrap();
    assert_eq!(archive(&done).len(), 5, "both are archived");
    let older = &segments(&stores.path("closed"))[0];
    let store = || {
        let root = stores.copy("held", "store");
        fs::remove_dir_all(root.join("archive")).unwrap();
        folder::copy(&done.join("archive"), &root.join("archive")).unwrap();
        root
    };
    for gone in [&[][..], &[0], &[1], &[0, 1]] {
        let root = store();
        let all = segments(&root);
        for n in gone {
            fs::remove_file(&all[*n]).unwrap();
        }
        opens(&root, &before, &[], &format!("segments {gone:?} are removed"));
    }
    // An older copy of the first segment has the mark of an earlier close.
    let root = store();
    let all = segments(&root);
    fs::copy(older, &all[0]).unwrap();
    fs::remove_file(&all[1]).unwrap();
    opens(&root, &before, &[], "an older copy of the first is back");
    // Next to the segment in use.
    for n in [0, 1] {
        let root = stores.copy("done", "store");
        let back = &segments(&stores.path("held"))[n];
        fs::copy(back, root.join("journal").join(name(back))).unwrap();
        opens(&root, &before, &[], &format!("segment {n} is back"));
    }
}

#[test]
fn old_frames_in_a_recycled_segment_are_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("open"), dir.path().join("killed"));
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    engine.start_task("tuning", "ben").unwrap();
    // Frames of one size, so that an old one begins where the new ones end: first so many small
    // ones that all numbers in the others take the same room.
    let small = 0..300;
    for n in small.clone() {
        task.append(Message::text("user", &format!("message {n}"))).unwrap();
    }
    let mut n = small.end;
    let mut append = || {
        task.append(vec![
            Message::text("user", &format!("message {n}")).into(),
            bodies::bytes(n, 40 << 10),
        ])
        .unwrap();
        n += 1;
        if n % 32 == 0 {
            engine.store().drain().unwrap();
        }
        assert!(n < 3000, "no segment was recycled");
        n
    };
    // Until a segment that held frames is free, and then until it is written to again. At rest the
    // store removes free segments but one, so it may have gone instead.
    let n = loop {
        let free = loop {
            append();
            if let Some(free) = free_segment(&root) {
                break free;
            }
        };
        while free.exists() {
            append();
        }
        let n = append();
        let last = segments(&root).last().unwrap().clone();
        let segment = fs::read(&last).unwrap();
        let end = segment.iter().rposition(|b| *b != 0).unwrap();
        // It is full of old frames.
        if end > segment.len() / 2 {
            break n;
        }
    };
    let before = Whole::of(&engine);
    assert_eq!(before.events() as u64, 300 + (n - 300) * 2 + 2);
    folder::copy_store(&root, &copy).unwrap();
    drop(engine);
    opens(&copy, &before, &[], "I1: not one more, not one less");
}

/// A segment that is free to be used again and is not new.
fn free_segment(root: &Path) -> Option<std::path::PathBuf> {
    let all = fs::read_dir(root.join("journal")).unwrap();
    all.map(|entry| entry.unwrap().path()).find(|path| name(path).starts_with("spare-0"))
}

#[test]
fn whatever_is_in_a_spare_segment_the_store_goes_on() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("killed"));
    let garbage = Random::new(seed()).bytes(8 << 20);
    // Frames of this store with the right numbers and checks, and the size that is kept.
    let mut frames = fs::read(&segments(&stores.path("killed"))[0]).unwrap();
    frames.resize(8 << 20, 0);
    let zeros = vec![0; 8 << 20];
    let mut cases = Cases::default();
    for (how, spare, content) in [
        ("zeros", "spare-new-0.seg", &zeros[..]),
        ("old frames", "spare-0000000002.seg", &frames[..]),
        ("garbage in a used one", "spare-0000000002.seg", &garbage[..]),
        ("garbage in a new one", "spare-new-0.seg", &garbage[..]),
        ("a short one", "spare-new-0.seg", &garbage[..100]),
        ("an empty one", "spare-0000000002.seg", &[]),
    ] {
        let root = stores.copy("killed", "store");
        fs::write(root.join("journal").join(spare), content).unwrap();
        cases.case(how, || opens(&root, &before, &[], how));
    }
    cases.finish();
}

#[test]
fn an_acked_that_is_missing_or_damaged_is_repaired() {
    let stores = Stores::make();
    let other = Stores::make();
    for store in ["killed", "closed", "held"] {
        let before = Whole::of_store(&stores.path(store));
        let damages: [Damage; 4] = [
            ("missing", |acked| fs::remove_file(acked).unwrap()),
            ("a flipped bit", |acked| folder::flip(acked, 25).unwrap()),
            ("cut", |acked| cut(acked, 30)),
            ("zeros", |acked| zero_from(acked, 0)),
        ];
        for (how, damage) in damages {
            let root = stores.copy(store, "store");
            let right = acked(&root);
            damage(&root.join("acked"));
            let how = format!("{store}, {how}");
            let both = beside(&root);
            opens(&root, &before, &[(REPAIRED, "acked")], &how);
            let engine = Engine::open(&both, options()).unwrap();
            assert_eq!(acked(&both), right, "{how}");
            drop(engine);
        }
        let root = stores.copy(store, "store");
        fs::copy(other.path(store).join("acked"), root.join("acked")).unwrap();
        opens(&root, &before, &[(REPAIRED, "acked")], "another store's");
    }
}

#[test]
fn a_commit_that_was_written_and_not_acknowledged_is_there_or_not_and_takes_no_other_with_it() {
    // An older `acked` is what a power cut leaves: it is never ahead, and asks for nothing.
    let stores = Stores::make();
    let killed = stores.path("killed");
    let root = stores.copy("killed", "store");
    fs::copy(stores.path("closed").join("acked"), root.join("acked")).unwrap();
    let before = Whole::of_store(&killed);
    opens(&root, &before, &[], "an older witness");
    let root = stores.copy("killed", "store");
    fs::copy(stores.path("closed").join("acked"), root.join("acked")).unwrap();
    let segment = segments(&root)[1].clone();
    let last = frame_of(&segment, last_commit(&segment));
    zero_from(&segment, last.at);
    let engine = Engine::open(&root, options()).unwrap();
    assert!(engine.store().report().findings.is_empty());
    let now = Whole::of(&engine);
    assert_eq!(now.events() + 1, before.events());
    clean(&engine, "without the last");
    let task = engine.task("essay").unwrap();
    task.checkpoint(Mark::new().label("another last")).unwrap();
}

#[test]
fn an_opening_that_is_refused_changes_no_byte_but_the_lock_and_what_sled_does_to_its_own() {
    let stores = Stores::make();
    let root = stores.copy("killed", "store");
    fs::write(root.join("journal/spare-new-0.seg"), vec![0; 256 << 10]).unwrap();
    fs::remove_file(&segments(&root)[1]).unwrap();
    let before = files(&root);
    Engine::open(&root, options()).unwrap_err();
    let mut changed = changes(&files(&root), &before);
    changed.remove("lock");
    // sled settles its files whenever it is opened; what they hold stays.
    changed.retain(|name| !name.starts_with("sled/") && name != "sled-closed");
    assert!(changed.is_empty(), "looking changed {changed:?}");
}
