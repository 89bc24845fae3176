//! What opening brings back after kills and damage: I1 (what was acknowledged is there), I2 (no
//! offset twice), I4 (damage is named, never believed), and the two copies that rebuild each other.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests"
)]

use std::fs;
use std::path::{Path, PathBuf};

use milepost::{Detail, Engine, ErrorKind, Mark, Message, Options, Task};
use milepost_tests::seed::{Random, seed};
use milepost_tests::{bodies, folder};
use tempfile::TempDir;

/// A store that was killed: nothing closed it, and nothing of its journal was applied.
fn killed(events: u64) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("open"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..events {
        task.append(Message::text("user", &format!("message {n}")))
            .unwrap();
    }
    folder::copy_store(&root, &copy).unwrap();
    engine.close().unwrap();
    (dir, copy)
}

/// The numbers of the messages of task `t`, after a check that they are all there in order.
fn messages(engine: &Engine) -> u64 {
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

fn clean(engine: &Engine) {
    let report = engine.verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

fn last_segment(root: &Path) -> PathBuf {
    let all = folder::files(&root.join("journal"), ".seg").unwrap();
    all.last().unwrap().clone()
}

/// Where the frames of a segment end: the bytes after it are zeros. Frames begin at multiples of 8,
/// and a payload does not end in more than 8 zeros.
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
            let stats = engine.stats().unwrap();
            if engine.task("t").is_err() {
                assert_eq!(engine.stats().unwrap().tasks, 0);
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
            // The store goes on from there, and what is appended now stays.
            let task = engine.task("t").unwrap();
            task.append(Message::text("user", &format!("message {left}")))
                .unwrap();
            engine.close().unwrap();
            let engine = Engine::open(&root, Options::default()).unwrap();
            assert_eq!(messages(&engine), left + 1, "I1");
            assert!(!engine.stats().unwrap().torn);
            clean(&engine);
            engine.close().unwrap();
            fs::remove_dir_all(&root).unwrap();
        }
        at -= 1 + random.below(97) as usize;
    }
}

#[test]
fn a_journal_that_was_cut_between_two_frames_gives_back_all_before_the_cut() {
    // Up to 7 zeros stand between two frames. Where the file ended in them, opening found all frames
    // before whole, took none of them in, and went on as if they were applied.
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
    // Garbage after the last commit is what a write leaves that nobody was told of.
    let (_dir, root) = killed(40);
    let segment = last_segment(&root);
    let mut bytes = fs::read(&segment).unwrap();
    let end = end_of(&bytes) - 8;
    let garbage = Random::new(seed()).bytes(300);
    bytes[end..end + 300].copy_from_slice(&garbage);
    fs::write(&segment, bytes).unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert_eq!(messages(&engine), 40, "I1");
    assert!(engine.stats().unwrap().torn);
    assert!(engine.stats().unwrap().recovered > 40);
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
        let Some(Detail::Corruption {
            place,
            expected,
            found,
        }) = error.detail()
        else {
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

/// A store of more than 20 MiB, most of it sealed and archived: its folder, and its end.
fn large() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    fill(&engine, &task, 0..22);
    engine.drain().unwrap();
    let archived = folder::files(&root.join("archive"), ".mpa").unwrap();
    assert!(archived.len() > 2, "{archived:?}");
    fill(&engine, &task, 22..24);
    let copy = dir.path().join("killed");
    engine.drain().unwrap();
    folder::copy_store(&root, &copy).unwrap();
    engine.close().unwrap();
    (dir, copy)
}

/// A MiB each: messages in order between bytes that do not compress, and a large body.
fn fill(engine: &Engine, task: &Task, mib: std::ops::Range<u64>) {
    for n in mib {
        let mut batch = vec![Message::text("user", &format!("message {n}")).into()];
        batch.extend((0..16).map(|i| bodies::bytes(n * 16 + i, 64 << 10)));
        if n % 6 == 0 {
            batch.push(bodies::bytes(n + 1_000_000, 400 << 10));
        }
        task.append(batch).unwrap();
        task.checkpoint(Mark::new().label(format!("m{n}"))).unwrap();
        if n == 10 {
            let point = engine.point("t@m5").unwrap();
            engine.branch(&point, Some("aside")).unwrap();
        }
    }
}

struct Whole {
    events: Vec<milepost::Event>,
    head: milepost::Head,
    checkpoints: Vec<milepost::CheckpointId>,
}

fn whole(engine: &Engine) -> Whole {
    let task = engine.task("t").unwrap();
    assert_eq!(messages(engine), 24);
    let query = milepost::CheckpointQuery {
        limit: Some(1000),
        ..Default::default()
    };
    Whole {
        events: task.read(..).unwrap().map(|e| e.unwrap()).collect(),
        head: task.head().unwrap(),
        checkpoints: engine
            .checkpoints(&query)
            .unwrap()
            .items
            .iter()
            .map(|c| c.id)
            .collect(),
    }
}

fn read_all(engine: &Engine) -> milepost::Result<()> {
    for event in engine.task("t")?.read(..)? {
        event?;
    }
    let query = milepost::CheckpointQuery {
        limit: Some(1000),
        ..Default::default()
    };
    engine.checkpoints(&query)?;
    Ok(())
}

fn same(engine: &Engine, before: &Whole, how: &str) {
    let now = whole(engine);
    assert_eq!(now.head, before.head, "{how}");
    assert!(now.events == before.events, "{how}");
    assert_eq!(now.checkpoints, before.checkpoints, "{how}");
    clean(engine);
}

#[test]
fn sled_is_rebuilt_from_journal_and_archive_whatever_happened_to_it() {
    let (dir, killed) = large();
    let before = {
        let root = dir.path().join("untouched");
        folder::copy(&killed, &root).unwrap();
        let engine = Engine::open(&root, Options::default()).unwrap();
        clean(&engine);
        let before = whole(&engine);
        drop(engine);
        fs::remove_dir_all(root).unwrap();
        before
    };
    let mut random = Random::new(seed());
    type Damage<'a> = Box<dyn FnMut(&Path) -> String + 'a>;
    let mut damages: Vec<Damage> = vec![
        Box::new(|sled| {
            fs::remove_dir_all(sled).unwrap();
            "removed".into()
        }),
        Box::new(|sled| {
            fs::remove_dir_all(sled).unwrap();
            fs::create_dir(sled).unwrap();
            "emptied".into()
        }),
        Box::new(|sled| {
            let db = sled.join("db");
            let len = fs::metadata(&db).unwrap().len();
            fs::File::options()
                .write(true)
                .open(&db)
                .unwrap()
                .set_len(len / 2)
                .unwrap();
            "cut in half".into()
        }),
    ];
    for _ in 0..8 {
        let pick = random.number();
        damages.push(Box::new(move |sled| {
            let db = sled.join("db");
            let len = fs::metadata(&db).unwrap().len();
            folder::flip(&db, pick % len).unwrap();
            format!("db, bit flipped at byte {} of {len}", pick % len)
        }));
    }
    for name in ["conf", "snap"] {
        damages.push(Box::new(move |sled| {
            for entry in fs::read_dir(sled).unwrap() {
                let path = entry.unwrap().path();
                if path
                    .file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with(name)
                {
                    folder::flip(&path, 9).unwrap();
                }
            }
            format!("{name}, bit flipped")
        }));
    }
    for mut damage in damages {
        let root = dir.path().join("damaged");
        folder::copy(&killed, &root).unwrap();
        let how = damage(&root.join("sled"));
        println!("sled {how}");
        let open = || {
            Engine::open(&root, Options::default())
                .unwrap_or_else(|error| panic!("sled {how}: {error}"))
        };
        let mut engine = open();
        // Damage that sled itself does not see shows when it is read; then a reopen repairs it.
        if let Err(error) = read_all(&engine) {
            println!("met when it was read: {error}");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "I4");
            assert!(
                error.to_string().contains("open the store again"),
                "{error}"
            );
            engine.close().unwrap();
            engine = open();
        }
        same(&engine, &before, &how);
        drop(engine);
        fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn old_frames_in_a_recycled_segment_are_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("open"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    // Frames of one size, so that an old one begins where the new ones end: first so many small ones
    // that all numbers in the others take the same room.
    let small = 0..300;
    for n in small.clone() {
        task.append(Message::text("user", &format!("message {n}")))
            .unwrap();
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
            engine.drain().unwrap();
        }
        assert!(n < 3000, "no segment was recycled");
        n
    };
    // Until a segment that held frames is free, and then until it is written to again.
    while free_segment(&root).is_none() {
        append();
    }
    let free = free_segment(&root).unwrap();
    while free.exists() {
        append();
    }
    let n = append();
    let segment = fs::read(last_segment(&root)).unwrap();
    assert!(
        end_of(&segment) > segment.len() / 2,
        "it is full of old frames"
    );
    folder::copy_store(&root, &copy).unwrap();
    engine.close().unwrap();
    let engine = Engine::open(&copy, Options::default()).unwrap();
    assert_eq!(messages(&engine), n, "I1: not one more, not one less");
    clean(&engine);
}

/// A segment that is free to be used again and is not new.
fn free_segment(root: &Path) -> Option<PathBuf> {
    let all = fs::read_dir(root.join("journal")).unwrap();
    all.map(|entry| entry.unwrap().path()).find(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("spare-0")
    })
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
fn a_folder_that_holds_something_else_is_no_store() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "chapter one").unwrap();
    let error = Engine::open(dir.path(), Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("thesis.txt"), "{error}");
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing was made in it");
    let file = dir.path().join("thesis.txt");
    let error = Engine::open(&file, Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[test]
fn a_store_that_is_not_there_is_made_only_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let error = Engine::open(&root, Options::default().create(false)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(!root.exists());
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
fn a_store_that_was_closed_opens_again_while_old_handles_live() {
    // A handle that is left over kept sled's folder locked, and it was set aside and rebuilt.
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let (clone, mut old) = (engine.clone(), task.read(..).unwrap());
    engine.close().unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert_eq!(engine.stats().unwrap().recovered, 0, "closed is closed");
    assert!(!root.join("damaged/sled").exists());
    let late = task.append(Message::text("user", "late")).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Unavailable);
    assert_eq!(clone.task("t").unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(
        old.next().unwrap().unwrap_err().kind(),
        ErrorKind::Unavailable
    );
    engine
        .task("t")
        .unwrap()
        .append(Message::text("user", "on time"))
        .unwrap();
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
    assert_eq!(
        fs::metadata(&pack[0]).unwrap().len(),
        len,
        "nothing was cut"
    );
    let task = engine.task("t").unwrap();
    let first = task.read(1..2).unwrap().next().unwrap();
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Corrupt, "I4");
    for n in 1..3 {
        let event = task.read(n + 1..=n + 1).unwrap().next().unwrap().unwrap();
        assert_eq!(event.body, Some(bodies::bytes(n, 300 << 10)));
    }
    let report = engine.verify(None, &mut |_, _| {}).unwrap();
    assert!(!report.is_clean(), "I4: verify reports it");
    // The same body again is stored anew, since the old chunk cannot be read.
    let again = task.append(bodies::bytes(0, 300 << 10)).unwrap();
    let event = task.read(again.first..).unwrap().next().unwrap().unwrap();
    assert_eq!(event.body, Some(bodies::bytes(0, 300 << 10)), "I1");
}
