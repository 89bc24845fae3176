//! A journal that was cut or damaged anywhere, by a random choice of places.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::events::Message;
use milepost::{Detail, Engine, ErrorKind, Options};
use milepost_tests::folder;
use milepost_tests::seed::{Random, seed};
use tempfile::TempDir;

/// A store that was killed: nothing closed it, and nothing of its journal was applied.
pub fn killed(events: u64) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("open"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..events {
        task.append(Message::text("user", &format!("message {n}"))).unwrap();
    }
    folder::copy_store(&root, &copy).unwrap();
    engine.close().unwrap();
    (dir, copy)
}

/// The numbers of the messages of task `t`, after a check that they are all there in order.
pub fn messages(engine: &Engine) -> u64 {
    let task = engine.task("t").unwrap();
    let mut next = 0;
    for (offset, event) in (0_u64..).zip(task.read(..).unwrap()) {
        let event = event.unwrap();
        assert_eq!(event.offset, offset, "I2");
        if let Some(milepost::Body::Message(message)) = event.body {
            let expected = Message::text("user", &format!("message {next}"));
            assert_eq!(message, expected, "I1");
            next += 1;
        }
    }
    next
}

/// Verifies everything.
pub fn clean(engine: &Engine) {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

fn last_segment(root: &Path) -> PathBuf {
    let all = folder::files(&root.join("journal"), ".seg").unwrap();
    all.last().unwrap().clone()
}

/// Returns the end of the frames of a segment: the bytes after it are zeros. Frames begin at
/// multiples of 8, and a payload does not end in more than 8 zeros.
fn end_of(bytes: &[u8]) -> usize {
    let last = bytes.iter().rposition(|b| *b != 0).unwrap() + 1;
    (last + 8).next_multiple_of(8)
}

#[test]
fn a_journal_that_was_cut_short_gives_back_every_whole_commit_before_the_cut() {
    let (dir, killed) = killed(40);
    let segment = last_segment(&killed);
    let whole = fs::read(&segment).unwrap();
    let end = end_of(&whole);
    let mut random = Random::new(seed());
    let mut before = u64::MAX;
    // From the end backwards, so that ever fewer commits are whole.
    let mut at = end;
    let mut round = 0;
    // The segment's header takes 4 KiB; the task is opened in the second commit.
    while at > 4096 + 1024 {
        for garbage in [false, true] {
            round += 1;
            let root = dir.path().join(format!("cut {round}"));
            folder::copy(&killed, &root).unwrap();
            let segment = last_segment(&root);
            // The witness is older after a power cut: it says nothing of what is cut here.
            fs::remove_file(root.join("acked")).unwrap();
            let mut bytes = whole.clone();
            if garbage {
                let len = bytes.len() - at;
                bytes.splice(at.., random.bytes(len));
            } else {
                bytes.truncate(at);
            }
            fs::write(&segment, bytes).unwrap();
            let engine = Engine::open(&root, Options::default()).unwrap();
            let stats = engine.store().stats().unwrap();
            if engine.task("t").is_err() {
                assert_eq!(engine.store().stats().unwrap().tasks, 0);
                assert!(before < 3, "I1: the task is there while messages of it are");
                return;
            }
            let left = messages(&engine);
            assert!(left <= before && left <= 40);
            if at < end - 24 {
                assert!(left < 40);
                if garbage {
                    assert!(stats.torn, "open says that a write was cut short");
                }
            } else if at == end {
                assert_eq!(left, 40, "I1");
            }
            before = left;
            clean(&engine);
            // The store continues from there, and new appends stay.
            let task = engine.task("t").unwrap();
            task.append(Message::text("user", &format!("message {left}"))).unwrap();
            engine.close().unwrap();
            let engine = Engine::open(&root, Options::default()).unwrap();
            assert_eq!(messages(&engine), left + 1, "I1");
            assert!(!engine.store().stats().unwrap().torn);
            clean(&engine);
            engine.close().unwrap();
            fs::remove_dir_all(&root).unwrap();
        }
        at -= 1 + random.below(197) as usize;
    }
}

#[test]
fn a_journal_that_was_cut_between_two_frames_gives_back_all_before_the_cut() {
    // Up to 7 zeros stand between two frames. Where the file ended in them, opening found all
    // frames before whole, took none of them in, and went on as if they were applied.
    let (dir, killed) = killed(40);
    let whole = fs::read(last_segment(&killed)).unwrap();
    let end = end_of(&whole);
    for at in end - 300..end - 150 {
        let root = dir.path().join(format!("cut {at}"));
        folder::copy(&killed, &root).unwrap();
        fs::write(last_segment(&root), &whole[..at]).unwrap();
        fs::remove_file(root.join("acked")).unwrap();
        let engine = Engine::open(&root, Options::default()).unwrap();
        assert!(messages(&engine) >= 36, "I1: cut at {at} of {end}");
        drop(engine);
        fs::remove_dir_all(&root).unwrap();
    }
}

#[test]
fn what_was_acknowledged_before_a_torn_write_is_all_there() {
    // Garbage after the last commit is the remains of an unacknowledged write.
    let (_dir, root) = killed(40);
    let segment = last_segment(&root);
    let mut bytes = fs::read(&segment).unwrap();
    let end = end_of(&bytes) - 8;
    let garbage = Random::new(seed()).bytes(300);
    bytes[end..end + 300].copy_from_slice(&garbage);
    fs::write(&segment, bytes).unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert_eq!(messages(&engine), 40, "I1");
    assert!(engine.store().stats().unwrap().torn);
    assert!(engine.store().stats().unwrap().recovered > 40);
    clean(&engine);
}

#[test]
fn a_flipped_bit_in_the_middle_of_the_journal_is_corrupt_and_says_where() {
    let (dir, killed) = killed(60);
    let whole = fs::read(last_segment(&killed)).unwrap();
    let end = end_of(&whole) as u64;
    let mut random = Random::new(seed());
    let mut refused = 0;
    for round in 0..12 {
        let root = dir.path().join(format!("flip {round}"));
        folder::copy(&killed, &root).unwrap();
        let segment = last_segment(&root);
        let at = 4096 + random.below(end - 4096 - 800);
        folder::flip(&segment, at).unwrap();
        let error = match Engine::open(&root, Options::default()) {
            Err(error) => error,
            // Between two frames are up to 7 bytes that say nothing.
            Ok(engine) => {
                assert_eq!(messages(&engine), 60, "byte {at}");
                continue;
            }
        };
        refused += 1;
        assert_eq!(error.kind(), ErrorKind::Corrupt, "I4: byte {at}: {error}");
        let Some(Detail::Corruption { place, expected, found }) = error.detail() else {
            panic!("I4: no place in {error}");
        };
        let name = segment.file_name().unwrap().to_str().unwrap();
        assert!(place.contains(name) && place.contains("byte"), "{place}");
        assert!(expected.contains("commit") && found.contains("commit"));
        // Nothing was changed by looking: with the bit back, all is there.
        folder::flip(&segment, at).unwrap();
        let engine = Engine::open(&root, Options::default()).unwrap();
        assert_eq!(messages(&engine), 60);
    }
    assert!(refused > 6);
}

#[test]
fn a_journal_that_was_cut_in_the_padding_of_its_last_frame_is_archived_whole() {
    // The frame is whole, and the file ends before the next one could begin. What was archived of
    // it was nothing: the file said that it had the commit, and sled was the only copy.
    let (dir, killed) = (1..12)
        .map(killed)
        .find(|(_, root)| {
            let last = *crate::recovery::stores::frames(&last_segment(root)).last().unwrap();
            !last.payload.is_multiple_of(8)
        })
        .unwrap();
    let segment = last_segment(&killed);
    let last = *crate::recovery::stores::frames(&segment).last().unwrap();
    crate::recovery::stores::cut(&segment, last.end - 1);
    let engine = Engine::open(&killed, Options::default()).unwrap();
    assert!(engine.store().report().findings.is_empty());
    let all = messages(&engine);
    // The segment is finished, and archived when it is applied.
    engine.close().unwrap();
    assert!(!segment.exists());
    let engine = Engine::open(&killed, Options::default()).unwrap();
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    engine.close().unwrap();
    fs::remove_dir_all(killed.join("sled")).unwrap();
    let engine = Engine::open(&killed, Options::default()).expect("I1: both copies are there");
    assert_eq!(messages(&engine), all, "I1");
    assert!(report.is_clean(), "{report:?}");
    drop(dir);
}
