//! Content that leaves the disk.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use milepost::events::Message;
use milepost::retention::Policy;
use milepost::{Engine, ErrorKind, Options, Task};
use milepost_codec::{ChunkEntry, ChunkGroup};
use milepost_tests::seed::Random;
use milepost_tests::{archive, bodies, folder};

use super::{assert_clean, labels, message, state, step};

/// Bytes that do not compress, so that they are in a file as they are.
pub(super) fn marker(n: u64) -> Vec<u8> {
    Random::new(0xbeef ^ n).bytes(600)
}

/// Appends a marker in every way there is: inline, in chunks, and as text that gets into states.
fn hide(task: &Task, n: u64) {
    let application = |len: usize| -> milepost::Body {
        let mut data = Random::new(n).bytes(len);
        data.splice(len / 2..len / 2, marker(n));
        milepost::events::Application {
            name: "test.secret".into(),
            data: milepost::events::Data::Bytes(data),
        }
        .into()
    };
    task.append(application(0)).unwrap();
    task.append(application(400_000)).unwrap();
    task.append(Message::text("user", &text(n))).unwrap();
}

fn text(n: u64) -> String {
    format!("the secret is {:x}", Random::new(n ^ 0x5ec).number())
}

/// The files in which something is, unpacked where that is known how to.
fn found_in(dir: &Path, needle: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(found_in(&path, needle));
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let unpacked = match path.extension().and_then(|e| e.to_str()) {
            Some("pack") => chunks(&bytes),
            Some("mpa") => sections(&bytes),
            _ => Vec::new(),
        };
        let is_in = |bytes: &[u8]| bytes.windows(needle.len()).any(|part| part == needle);
        if is_in(&bytes) || is_in(&unpacked) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let header = &bytes[..ChunkEntry::HEADER_LEN];
        let is_group = header.starts_with(ChunkGroup::MAGIC);
        let len = match is_group {
            true => ChunkGroup::decode_header(header).unwrap().entry_len(),
            false => {
                let header = ChunkEntry::decode_header(header).unwrap();
                ChunkEntry::HEADER_LEN + header.stored_len()
            }
        };
        let (entry, rest) = bytes.split_at(len);
        if is_group {
            let group = ChunkGroup::decode(entry).unwrap();
            (0..group.len()).for_each(|n| out.extend(group.get(n).unwrap().1));
        } else {
            out.extend(ChunkEntry::decode(entry).unwrap().1);
        }
        bytes = rest;
    }
    out
}

fn sections(bytes: &[u8]) -> Vec<u8> {
    let batches = archive::commits(bytes, None).into_values().flatten();
    batches.flat_map(|(_, _, section)| section).collect()
}

/// Returns the places of a task's markers.
pub(super) fn places(root: &Path, n: u64) -> Vec<String> {
    let mut found = found_in(root, &marker(n)[100..160]);
    found.extend(found_in(root, text(n).as_bytes()));
    found
}

fn wait_for_snapshots(engine: &Engine, task: &Task) {
    for n in 0..200 {
        task.append(bodies::bytes(n, 2000)).unwrap();
    }
    while engine.store().stats().unwrap().snapshots == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn nothing_of_a_deleted_task_is_in_any_file_and_the_others_are_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    for (n, name) in (1..).zip(["kept", "the-name-of-it"]) {
        let task = engine.start_task(name, &format!("user-of-{name}")).unwrap();
        hide(&task, n);
        wait_for_snapshots(&engine, &task);
        step(&task, n);
    }
    let before = state(&engine, "kept");
    state(&engine, "the-name-of-it");
    engine.store().drain().unwrap();
    assert!(places(&root, 2).len() >= 3, "it looks where they are");
    engine.retention().delete_task("the-name-of-it").unwrap();
    let needs = engine.retention().plan_compaction().unwrap().needs;
    let mut steps = Vec::new();
    let report = engine.retention().compact(&mut |step| steps.push(step)).unwrap();
    assert!(steps.len() >= 3 && needs > 0);
    assert!(report.after.packs < report.before.packs, "{report:?}");
    assert!(report.after.archive < report.before.archive, "{report:?}");

    let check = |engine: &Engine| {
        assert_eq!(places(&root, 2), Vec::<String>::new());
        assert_eq!(found_in(&root, b"the-name-of-it"), Vec::<String>::new());
        assert!(places(&root, 1).len() >= 3);
        assert_eq!(state(engine, "kept"), before);
        assert_eq!(labels(engine, "kept"), ["c-1"]);
        assert_clean(engine);
    };
    check(&engine);
    engine.close().unwrap();
    for sled in [true, false] {
        if !sled {
            fs::remove_dir_all(root.join("sled")).unwrap();
        }
        let engine = Engine::open(&root, Options::default()).unwrap();
        check(&engine);
        engine.close().unwrap();
    }
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.task("kept").unwrap();
    task.append(message(1)).unwrap();
    assert_ne!(state(&engine, "kept"), before);
    engine.restore(&engine.point("kept@c-1").unwrap()).run().unwrap();
    assert_eq!(state(&engine, "kept"), before);
}

#[test]
fn trimmed_events_and_erased_bodies_are_in_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    // One to be trimmed: as bytes only, since the text of a message is in the state of the base.
    task.append(bodies::bytes(7777, 3000)).unwrap();
    let trimmed = Random::new(7777).bytes(3000)[500..560].to_vec();
    step(&task, 1);
    step(&task, 2);
    let erased = task.head().unwrap().next;
    hide(&task, 9);
    wait_for_snapshots(&engine, &task);
    step(&task, 3);
    engine.retention().retain(&Policy::new().keep(2)).unwrap();
    for offset in erased..erased + 3 {
        engine.retention().erase(&task.point(offset).unwrap(), None).unwrap();
    }
    let (now, head) = (state(&engine, "t"), task.head().unwrap());
    assert!(!found_in(&root, &trimmed).is_empty());
    engine.retention().compact(&mut |_| {}).unwrap();
    let check = |engine: &Engine| {
        assert_eq!(found_in(&root, &trimmed), Vec::<String>::new());
        assert_eq!(places(&root, 9), Vec::<String>::new());
        assert_eq!(state(engine, "t"), now);
        assert_eq!(engine.task("t").unwrap().head().unwrap(), head);
        assert_eq!(labels(engine, "t"), ["c-3", "c-2"]);
        let gone = engine.point("t@1").and_then(|p| engine.run_state(&p));
        assert_eq!(gone.unwrap_err().kind(), ErrorKind::NotFound);
        assert_clean(engine);
    };
    check(&engine);
    engine.close().unwrap();
    for remove in ["", "sled", "archive/0000000001.mpa"] {
        if let Some(path) = Some(root.join(remove)).filter(|_| !remove.is_empty()) {
            let removed = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            removed.unwrap();
        }
        let engine = Engine::open(&root, Options::default()).unwrap();
        check(&engine);
        engine.close().unwrap();
    }
}

#[test]
fn a_compaction_runs_beside_appends_and_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("store"), dir.path().join("killed"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let gone = engine.start_task("gone", "ana").unwrap();
    hide(&gone, 3);
    for n in 0..300 {
        gone.append(bodies::bytes(n, 1000)).unwrap();
    }
    engine.retention().delete_task("gone").unwrap();
    let stop = AtomicBool::new(false);
    // If a sync costs nothing, the writers would give the compactions ever more to do.
    let allowed = AtomicU64::new(200);
    let counts: Vec<u64> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|w| {
                let task = engine.start_task(&format!("t-{w}"), "ana").unwrap();
                let (stop, allowed) = (&stop, &allowed);
                scope.spawn(move || {
                    let mut n = 0;
                    while !stop.load(Ordering::Relaxed) {
                        if n >= allowed.load(Ordering::Relaxed) {
                            std::thread::yield_now();
                            continue;
                        }
                        task.append(message(n)).unwrap();
                        if n % 50 == 0 {
                            task.append(bodies::bytes(n / 100, 300_000)).unwrap();
                        }
                        n += 1;
                    }
                    task.head().unwrap().next
                })
            })
            .collect();
        for _ in 0..3 {
            let mut more = |_| {
                allowed.fetch_add(10, Ordering::Relaxed);
            };
            engine.retention().compact(&mut more).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    folder::copy_store(&root, &killed).unwrap();
    let check = |engine: &Engine, root: &Path| {
        for (w, count) in counts.iter().enumerate() {
            let task = engine.task(&format!("t-{w}")).unwrap();
            assert_eq!(task.head().unwrap().next, *count);
            assert!(task.read(..).unwrap().all(|event| event.is_ok()));
        }
        assert_eq!(places(root, 3), Vec::<String>::new());
        assert_clean(engine);
    };
    check(&engine, &root);
    engine.close().unwrap();
    for root in [&root, &killed] {
        let engine = Engine::open(root, Options::default()).unwrap();
        check(&engine, root);
        engine.close().unwrap();
        fs::remove_dir_all(root.join("sled")).unwrap();
        let engine = Engine::open(root, Options::default()).unwrap();
        check(&engine, root);
    }
}

#[test]
fn a_store_with_nothing_to_let_go_of_is_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    hide(&task, 4);
    step(&task, 1);
    let before = state(&engine, "t");
    for _ in 0..2 {
        engine.retention().compact(&mut |_| {}).unwrap();
        assert_eq!(state(&engine, "t"), before);
        assert_clean(&engine);
    }
    engine.close().unwrap();
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert!(!root.join("sled.next").exists() && !root.join("sled-now").exists());
    assert_eq!(state(&engine, "t"), before);
    assert_clean(&engine);
    Engine::in_memory(Options::default()).unwrap().retention().compact(&mut |_| {}).unwrap();
}

/// A store with a task that was deleted, one that was trimmed, a lineage that was dropped and a
/// body that was erased, compacted.
fn compacted(root: &Path) -> Engine {
    let engine = Engine::open(root, Options::default()).unwrap();
    let gone = engine.start_task("gone", "ana").unwrap();
    hide(&gone, 1);
    let task = engine.start_task("t", "ana").unwrap();
    (0..4).for_each(|n| drop(step(&task, n)));
    let task = engine.restore(&engine.point("t@c-1").unwrap()).run().unwrap();
    (4..8).for_each(|n| drop(step(&task, n)));
    hide(&task, 2);
    let anchor = engine.integrity().anchor().unwrap();
    engine.retention().delete_task("gone").unwrap();
    engine.retention().retain(&Policy::new().keep(2).undo(0)).unwrap();
    let last = task.head().unwrap().next - 1;
    engine.retention().erase(&task.point(last).unwrap(), None).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    assert_eq!(engine.integrity().verify_anchor(&anchor).unwrap(), []);
    engine
}

#[test]
fn an_anchor_of_before_and_one_of_after_both_fit() {
    let dir = tempfile::tempdir().unwrap();
    let (root, file) = (dir.path().join("store"), dir.path().join("anchor.json"));
    let engine = compacted(&root);
    let after = engine.integrity().anchor().unwrap();
    step(&engine.task("t").unwrap(), 20);
    assert_eq!(engine.integrity().verify_anchor(&after).unwrap(), []);
    engine.close().unwrap();
    for _ in 0..2 {
        let options = Options::default().anchor_to(&file);
        let engine = Engine::open(&root, options).unwrap();
        engine.start_task("more", "ana").unwrap();
        engine.retention().delete_task("more").unwrap();
        step(&engine.task("t").unwrap(), 21);
        engine.retention().retain(&Policy::new().keep(1)).unwrap();
        engine.close().unwrap();
    }
    // One that was put back is found.
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert_eq!(engine.integrity().verify_anchor(&after).unwrap(), []);
}

#[test]
fn a_compacted_store_that_is_damaged_in_both_copies_keeps_what_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = compacted(&root);
    let before = state(&engine, "t");
    let task = engine.task("t").unwrap();
    let kept: Vec<_> = task.read(..).unwrap().map(Result::unwrap).collect();
    // These are in the journal only.
    engine.store().drain().unwrap();
    let later = engine.start_task("later", "ana").unwrap();
    (0..3).for_each(|n| drop(step(&later, n)));
    engine.close().unwrap();
    fs::remove_dir_all(root.join("sled"))
        .or_else(|_| fs::remove_dir_all(root.join("sled.next")))
        .unwrap();
    let journal = root.join("journal");
    let last = fs::read_dir(&journal).unwrap().map(|e| e.unwrap().path()).max().unwrap();
    let mut bytes = fs::read(&last).unwrap();
    bytes[4096 + 300] ^= 1;
    fs::write(&last, bytes).unwrap();
    assert!(Engine::open(&root, Options::default()).is_err());
    let report = milepost::repair::repair(&root, &Options::default(), false).unwrap();
    assert!(report.lost.iter().all(|lost| lost.task.as_deref() != Some("t")), "{report:?}");
    let engine = Engine::open(&root, Options::default()).unwrap();
    assert_eq!(state(&engine, "t"), before);
    let task = engine.task("t").unwrap();
    let found: Vec<_> = task.read(..).unwrap().map(Result::unwrap).collect();
    assert_eq!(found, kept);
    assert!(engine.task("gone").is_err());
    assert_clean(&engine);
}
