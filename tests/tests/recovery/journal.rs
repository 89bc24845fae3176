//! The journal: one test for each row.

use std::fs;
use std::path::Path;

use milepost::Engine;
use milepost::events::Message;
use milepost::store::Outcome;
use milepost_codec::{FRAME_HEADER_LEN, SEGMENT_HEADER_LEN};
use milepost_tests::bodies;

use crate::recovery::check::{Cases, Whole, opens, refuses, repairs, same};
use crate::recovery::stores::{
    Damage, Stores, acked, cut, flip_commit, frames, last_commit, name, options, segments,
    zero_from,
};

const REPAIRED: Outcome = Outcome::Repaired;

#[test]
fn a_journal_that_was_closed_cleanly_goes_on_in_the_same_segment() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let before = Whole::of_store(&root);
    let segment = segments(&root)[0].clone();
    let frames_before = frames(&segment).len();
    let engine = Engine::open(&root, options()).unwrap();
    assert_eq!(engine.store().report().recovered, 0);
    assert!(engine.store().report().findings.is_empty());
    let task = engine.task("essay").unwrap();
    task.append(Message::text("user", "on")).unwrap();
    assert_eq!(segments(&root), std::slice::from_ref(&segment), "no other was begun");
    assert_eq!(frames(&segment).len(), frames_before + 1);
    drop(task);
    engine.close().unwrap();
    let root = stores.copy("closed", "store");
    opens(&root, &before, &[], "closed");
}

#[test]
fn a_journal_of_a_kill_with_all_frames_whole_comes_back_and_goes_on_in_a_fresh_segment() {
    let stores = Stores::make();
    let root = stores.copy("killed", "store");
    let before = Whole::of_store(&root);
    let old = segments(&root);
    let unapplied = last_commit(&old[1]) - stores.applied;
    let engine = Engine::open(&root, options()).unwrap();
    // One of them only says that the store was closed.
    assert_eq!(engine.store().report().recovered, unapplied - 1);
    assert!(engine.store().report().findings.is_empty());
    same(&Whole::of(&engine), &before, "killed");
    let task = engine.task("essay").unwrap();
    task.append(Message::text("user", "on")).unwrap();
    let now = segments(&root);
    assert_eq!(now[..2], old, "they wait to be archived");
    assert_eq!(frames(&now[2])[0].seq, acked(&root).seq);
    drop(task);
    drop(engine);
    let root = stores.copy("killed", "store");
    opens(&root, &before, &[], "killed");
}

#[test]
fn a_torn_tail_that_was_not_acknowledged_is_dropped() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("killed"));
    // The bytes of the next append, of which each case has a part.
    let next = stores.copy("killed", "next");
    let engine = Engine::open(&next, options()).unwrap();
    let task = engine.task("essay").unwrap();
    task.append(bodies::bytes(1, 3000)).unwrap();
    let written = fs::read(&segments(&next)[2]).unwrap();
    let frame = frames(&segments(&next)[2])[0];
    for len in [24, FRAME_HEADER_LEN, 1000, frame.end - frame.at - 8] {
        let root = stores.copy("killed", "store");
        let segment = segments(&root)[1].clone();
        let end = frames(&segment).last().unwrap().end;
        let mut bytes = fs::read(&segment).unwrap();
        let torn = &written[frame.at..frame.at + len];
        if bytes.len() < end + len {
            bytes.resize(end + len, 0);
        }
        bytes[end..end + len].copy_from_slice(torn);
        fs::write(&segment, bytes).unwrap();
        let how = format!("{len} bytes of a frame");
        let place = format!("{} at byte {end}", name(&segment));
        opens(&root, &before, &[(Outcome::Dropped, &place)], &how);
    }
}

const TAILS: [Damage; 4] = [
    ("the last frame cut", |segment| {
        let last = *frames(segment).last().unwrap();
        cut(segment, last.at + 100);
    }),
    ("the last three frames zeros", |segment| {
        let all = frames(segment);
        zero_from(segment, all[all.len() - 3].at);
    }),
    ("a flipped bit in the last frame", |segment| {
        flip_commit(segment, last_commit(segment));
    }),
    ("all frames cut", |segment| cut(segment, SEGMENT_HEADER_LEN)),
];

#[test]
fn a_tail_that_is_damaged_or_cut_is_repaired_where_sled_holds_its_commits() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("held"));
    let mut cases = Cases::default();
    for (how, damage) in TAILS {
        let root = stores.copy("held", "store");
        damage(&segments(&root)[1]);
        cases.case(how, || {
            repairs(&root, &before, &[(REPAIRED, "journal")], &[], how);
        });
    }
    let before = Whole::of_store(&stores.path("closed"));
    for (how, damage) in TAILS {
        let root = stores.copy("closed", "store");
        let segment = segments(&root)[0].clone();
        // The last frame marks the close of the store: it is not a commit of a caller.
        let all = frames(&segment);
        zero_from(&segment, all[all.len() - 1].at);
        damage(&segment);
        let how = format!("closed, {how}");
        cases.case(&how, || {
            repairs(&root, &before, &[(REPAIRED, "journal")], &[], &how);
        });
    }
    cases.finish();
}

#[test]
fn a_tail_that_is_damaged_or_cut_and_not_applied_is_refused() {
    let stores = Stores::make();
    let killed = stores.path("killed");
    let before = Whole::of_store(&killed);
    let mut cases = Cases::default();
    for (how, damage) in TAILS {
        let damage = |root: &Path| damage(&segments(root)[1]);
        cases.case(how, || {
            refuses(&killed, &before, damage, "0000000005.seg at byte", how);
        });
    }
    cases.finish();
}

#[test]
fn damage_in_the_middle_is_repaired_where_sled_holds_those_commits() {
    let stores = Stores::make();
    for (store, seq) in [("held", 9), ("held", 30), ("killed", 9), ("closed", 9)] {
        let before = Whole::of_store(&stores.path(store));
        let root = stores.copy(store, "store");
        let segment = segments(&root)[0].clone();
        let seq = frames(&segment)[seq].seq;
        assert!(store == "held" || seq < stores.applied);
        flip_commit(&segment, seq);
        let how = format!("{store}, commit {seq}");
        let place = format!("{} at byte", name(&segment));
        repairs(&root, &before, &[(REPAIRED, &place)], &[&segment], &how);
    }
}

#[test]
fn damage_in_the_middle_that_is_not_applied_is_refused() {
    let stores = Stores::make();
    let killed = stores.path("killed");
    let before = Whole::of_store(&killed);
    for (n, from_end) in [(0, 1), (0, 5), (1, 5), (1, 3)] {
        let all = frames(&segments(&killed)[n]);
        let seq = all[all.len() - from_end].seq;
        assert!(seq > stores.applied + 1);
        let damage = |root: &Path| flip_commit(&segments(root)[n], seq);
        let how = format!("commit {seq}");
        let place = format!("{} at byte", name(&segments(&killed)[n]));
        refuses(&killed, &before, damage, &place, &how);
    }
}

#[test]
fn a_damaged_header_of_a_segment_is_repaired_by_the_checks_of_its_frames() {
    let stores = Stores::make();
    for (store, n) in [("killed", 0), ("killed", 1), ("held", 0), ("closed", 0)] {
        for (what, from, to) in [("a bit", 20, 21), ("all", 0, SEGMENT_HEADER_LEN)] {
            let before = Whole::of_store(&stores.path(store));
            let root = stores.copy(store, "store");
            let segment = segments(&root)[n].clone();
            let mut bytes = fs::read(&segment).unwrap();
            bytes[from..to].iter_mut().for_each(|byte| *byte ^= 0x41);
            fs::write(&segment, bytes).unwrap();
            let how = format!("{store}, segment {n}, {what} of its header");
            let place = name(&segment);
            repairs(&root, &before, &[(REPAIRED, &place)], &[&segment], &how);
        }
    }
}
