//! Grouped chunks: the parts of a group that a compaction keeps and removes, and its opening and
//! verification.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use milepost::ids::ChunkId;
use milepost::repair::repair;
use milepost::retention::CompactionStep;
use milepost::store::{ChunkStore, Outcome};
use milepost::{Body, Engine, ErrorKind, Options};
use milepost_tests::seed::Random;
use milepost_tests::{bodies, folder};
use tempfile::TempDir;

/// Bytes that do not compress, so that they are in a file as they are.
fn content(n: u64) -> Vec<u8> {
    Random::new(0xc0de ^ n).bytes(700 + n as usize % 300)
}

fn contents(ns: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    ns.map(content).collect()
}

fn slices(contents: &[Vec<u8>]) -> Vec<&[u8]> {
    contents.iter().map(Vec::as_slice).collect()
}

fn options() -> Options {
    Options::default().snapshots(false)
}

fn open(dir: &TempDir) -> (Engine, PathBuf) {
    let root = dir.path().join("store");
    (Engine::open(&root, options()).unwrap(), root)
}

/// The files of packs in which some bytes are.
fn packs_with(root: &Path, needle: &[u8]) -> usize {
    let packs = folder::files(&root.join("packs"), ".pack").unwrap();
    let has = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(needle.len()).any(|part| part == needle)
    };
    packs.iter().filter(|path| has(path)).count()
}

/// The event of a capture of a file, with the content of the file. The nodes of its tree are put.
fn event(chunks: &ChunkStore, n: u64) -> (Body, Vec<u8>) {
    let content = Random::new(n).bytes(4000);
    let (body, nodes) = bodies::capture(&content);
    chunks.put(&slices(&nodes)).unwrap();
    (body, content)
}

#[test]
fn members_that_nothing_names_leave_the_disk_and_the_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, root) = open(&dir);
    let task = engine.start_task("t", "ana").unwrap();
    let (chunks, held) = (engine.store().chunks(), engine.store().chunks().hold());
    let (one, file_of_one) = event(&chunks, 1);
    let (two, file_of_two) = event(&chunks, 2);
    // A group with two that will be named, and one of which all will be.
    let mut mixed = contents(0..20);
    mixed.insert(3, file_of_one.clone());
    mixed.insert(17, file_of_two.clone());
    let ids = chunks.put(&slices(&mixed)).unwrap();
    let (three, file_of_three) = event(&chunks, 3);
    let whole = chunks.put(&[&file_of_three]).unwrap();
    for body in [&one, &two, &three] {
        task.append(body.clone()).unwrap();
    }
    drop(held);
    for gone in contents(0..20) {
        assert_eq!(packs_with(&root, &gone[100..200]), 1, "it looks where they are");
    }
    engine.retention().compact(&mut |_| ()).unwrap();
    for (id, content) in ids.iter().zip(&mixed) {
        let is_named = [&file_of_one, &file_of_two].contains(&content);
        assert_eq!(packs_with(&root, &content[100..200]), usize::from(is_named));
        assert_eq!(chunks.has(&[*id]).unwrap(), [is_named]);
        match chunks.get(id) {
            Ok(read) => assert_eq!(&*read, content.as_slice()),
            Err(error) => assert_eq!((error.kind(), is_named), (ErrorKind::NotFound, false)),
        }
    }
    assert_eq!(&*chunks.get(&whole[0]).unwrap(), file_of_three.as_slice());
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());

    // There is nothing more to take away: packs stay as they are.
    let size = || engine.store().stats().unwrap().disk.packs;
    let before = size();
    engine.retention().compact(&mut |_| ()).unwrap();
    assert_eq!(size(), before);
    drop((chunks, task));
    engine.close().unwrap();
    folder::remove_sled(&root).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    for (offset, body) in (1..).zip([one, two, three]) {
        let event = engine.task("t").unwrap().read(offset..).unwrap().next();
        assert_eq!(event.unwrap().unwrap().body, Some(body));
    }
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn what_is_stored_asked_for_or_said_to_be_used_while_a_compaction_runs_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, _) = open(&dir);
    engine.start_task("t", "ana").unwrap();
    let chunks = engine.store().chunks();
    let before = contents(0..40);
    let ids = chunks.put(&slices(&before)).unwrap();
    let (mut held, mut new) = (None, Vec::new());
    engine
        .retention()
        .compact(&mut |step| {
            if !matches!(step, CompactionStep::Packs(..)) && held.is_none() {
                held = Some(chunks.hold());
                assert_eq!(chunks.has(&ids[..3]).unwrap(), [true; 3]);
                chunks.uses(&ids[10..13]);
                chunks.put(&slices(&before[20..23])).unwrap();
                chunks.get(&ids[30]).unwrap();
                new = chunks.put(&slices(&contents(100..110))).unwrap();
            }
        })
        .unwrap();
    assert!(held.is_some());
    let stays = |n: &usize| [0, 1, 2, 10, 11, 12, 20, 21, 22, 30].contains(n);
    let expected: Vec<bool> = (0..40).map(|n| stays(&n)).collect();
    assert_eq!(chunks.has(&ids).unwrap(), expected);
    for n in (0..40).filter(stays) {
        assert_eq!(&*chunks.get(&ids[n]).unwrap(), before[n].as_slice());
    }
    for (id, content) in new.iter().zip(contents(100..110)) {
        assert_eq!(&*chunks.get(id).unwrap(), content.as_slice());
    }
    drop(held);
    engine.retention().compact(&mut |_| ()).unwrap();
    assert_eq!(chunks.has(&ids).unwrap(), [false; 40], "nothing names them");
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn a_compaction_waits_for_what_is_held() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, _) = open(&dir);
    let task = engine.start_task("t", "ana").unwrap();
    let chunks = engine.store().chunks();
    let held = chunks.hold();
    let (body, tail) = event(&chunks, 1);
    let id = chunks.put(&[&tail, b"nothing names it"]).unwrap();
    let (sender, done) = mpsc::channel();
    let compacting = {
        let engine = engine.clone();
        std::thread::spawn(move || {
            engine.retention().compact(&mut |_| ()).unwrap();
            sender.send(()).unwrap();
        })
    };
    assert!(done.recv_timeout(Duration::from_millis(300)).is_err());
    task.append(body).unwrap();
    drop(held);
    compacting.join().unwrap();
    assert_eq!(chunks.has(&id).unwrap(), [true, false]);
}

#[test]
fn groups_are_found_again_where_sled_is_gone_or_the_store_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, root) = open(&dir);
    engine.start_task("t", "ana").unwrap();
    let chunks = engine.store().chunks();
    let all = contents(0..900);
    let ids = chunks.put(&slices(&all)).unwrap();
    chunks.sync().unwrap();
    let killed = dir.path().join("killed");
    folder::copy_store(&root, &killed).unwrap();
    drop(chunks);
    engine.close().unwrap();
    folder::remove_sled(&root).unwrap();
    for root in [root, killed] {
        let engine = Engine::open(&root, options()).unwrap();
        let chunks = engine.store().chunks();
        assert_eq!(chunks.folder(), Some(root.as_path()));
        assert_eq!(chunks.has(&ids).unwrap(), vec![true; 900]);
        let mut order = ids.clone();
        order.reverse();
        chunks.in_order(&mut order).unwrap();
        assert_eq!(order, ids);
        for (id, content) in ids.iter().zip(&all) {
            assert_eq!(&*chunks.get(id).unwrap(), content.as_slice());
        }
        let before = engine.store().stats().unwrap().disk.packs;
        assert_eq!(chunks.put(&slices(&all)).unwrap(), ids);
        assert_eq!(engine.store().stats().unwrap().disk.packs, before, "once");
        assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    }
}

#[test]
fn damage_in_one_group_takes_no_other_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, root) = open(&dir);
    engine.start_task("t", "ana").unwrap();
    let chunks = engine.store().chunks();
    let groups = [0..5, 10..15, 20..25].map(contents);
    let ids = groups.each_ref().map(|all| chunks.put(&slices(all)).unwrap());
    drop(chunks);
    engine.close().unwrap();
    let pack = folder::files(&root.join("packs"), ".pack").unwrap().remove(0);
    let bytes = fs::read(&pack).unwrap();
    let at = bytes.windows(50).position(|w| w == &groups[1][2][100..150]);
    folder::flip(&pack, at.unwrap() as u64).unwrap();
    folder::remove_sled(&root).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    let chunks = engine.store().chunks();
    for (n, (ids, all)) in ids.iter().zip(&groups).enumerate() {
        assert_eq!(chunks.has(ids).unwrap(), [n != 1; 5], "group {n}");
        for (id, content) in ids.iter().zip(all).filter(|_| n != 1) {
            assert_eq!(&*chunks.get(id).unwrap(), content.as_slice());
        }
    }
}

#[test]
fn chunks_that_are_stored_beside_compactions_are_there_while_they_are_held() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, _) = open(&dir);
    let task = engine.start_task("t", "ana").unwrap();
    let chunks = engine.store().chunks();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (chunks, done) = (chunks.clone(), &done);
            scope.spawn(move || {
                for round in (worker..).step_by(2).take_while(|_| !done.load(Ordering::Relaxed)) {
                    let all = contents(round * 10..round * 10 + 6);
                    let held = chunks.hold();
                    let ids = chunks.put(&slices(&all)).unwrap();
                    std::thread::sleep(Duration::from_millis(round % 40));
                    for (id, content) in ids.iter().zip(&all) {
                        assert_eq!(&*chunks.get(id).unwrap(), content.as_slice());
                    }
                    drop(held);
                }
            });
        }
        for n in 0..12 {
            task.append(bodies::bytes(n, 300 << 10)).unwrap();
            engine.retention().compact(&mut |_| ()).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn a_group_that_was_not_finished_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, root) = open(&dir);
    engine.start_task("t", "ana").unwrap();
    let chunks = engine.store().chunks();
    let first = chunks.put(&slices(&contents(0..5))).unwrap();
    let pack = folder::files(&root.join("packs"), ".pack").unwrap().remove(0);
    let end = fs::metadata(&pack).unwrap().len();
    drop(chunks);
    engine.close().unwrap();
    let whole = fs::read(&pack).unwrap();
    for torn in [3, 31, 60, 100, whole.len() - 1] {
        fs::write(&pack, [&whole[..], &whole[..torn]].concat()).unwrap();
        let engine = Engine::open(&root, options()).unwrap();
        let [finding] = &engine.store().report().findings[..] else {
            panic!("{:?}", engine.store().report())
        };
        assert_eq!(finding.outcome, Outcome::Dropped);
        assert!(finding.place.ends_with(&format!("at byte {end}")), "{finding:?}");
        let has = engine.store().chunks().has(&first).unwrap();
        assert_eq!(has, [true; 5]);
        engine.close().unwrap();
    }
}

#[test]
fn a_damaged_group_is_reported_and_its_chunks_can_be_stored_again() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, root) = open(&dir);
    let task = engine.start_task("t", "ana").unwrap();
    let chunks = engine.store().chunks();
    let held = chunks.hold();
    let (body, tail) = event(&chunks, 1);
    let before = chunks.put(&slices(&contents(0..3))).unwrap();
    let mut hit: Vec<Vec<u8>> = contents(10..14);
    hit.push(tail);
    let ids = chunks.put(&slices(&hit)).unwrap();
    let after = chunks.put(&slices(&contents(20..23))).unwrap();
    task.append(body.clone()).unwrap();
    let pack = folder::files(&root.join("packs"), ".pack").unwrap().remove(0);
    let bytes = fs::read(&pack).unwrap();
    let at = bytes.windows(50).position(|w| w == &hit[1][100..150]).unwrap();
    // A cached unpacked copy does not hide it.
    chunks.get(&ids[0]).unwrap();
    folder::flip(&pack, at as u64).unwrap();
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    let of_chunks = report.faults.iter().filter(|fault| fault.message.contains(".pack"));
    assert!(of_chunks.count() >= ids.len(), "{report:?}");
    drop((chunks, held, task));
    engine.close().unwrap();

    let engine = Engine::open(&root, options()).unwrap();
    let chunks = engine.store().chunks();
    assert_eq!(chunks.has(&ids).unwrap(), [true; 5], "the index is believed");
    let error = chunks.get(&ids[0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("pack 1 at byte"), "{error}");
    for id in before.iter().chain(&after) {
        chunks.get(id).unwrap();
    }
    // One that was found damaged is stored again.
    assert_eq!(chunks.has(&ids[..2]).unwrap(), [false, true]);
    chunks.put(&slices(&hit[..1])).unwrap();
    assert_eq!(&*chunks.get(&ids[0]).unwrap(), hit[0].as_slice());
    // Some of it is named, some is not: it cannot be written again, and nothing is taken away.
    let error = engine.retention().compact(&mut |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("repair"), "{error}");
    assert!(fs::metadata(&pack).unwrap().len() > 0);
    drop(chunks);
    engine.close().unwrap();

    repair(&root, &options(), false).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    let chunks = engine.store().chunks();
    let has = chunks.has(&ids).unwrap();
    // Nothing named three of the others, and repair removed the last.
    assert_eq!(has, [true, false, false, false, false]);
    assert_eq!(chunks.put(&slices(&hit)).unwrap(), ids);
    for (id, content) in ids.iter().zip(&hit) {
        assert_eq!(&*chunks.get(id).unwrap(), content.as_slice());
    }
    let event = engine.task("t").unwrap().read(1..).unwrap().next();
    assert_eq!(event.unwrap().unwrap().body, Some(body));
    engine.retention().compact(&mut |_| ()).unwrap();
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn chunks_in_memory_are_the_same() {
    let engine = Engine::in_memory(options()).unwrap();
    let chunks = engine.store().chunks();
    let _held = chunks.hold();
    let ids = chunks.put(&[b"one", b"", b"one"]).unwrap();
    assert_eq!(ids[0], ids[2]);
    let none = ChunkId([1; 32]);
    assert_eq!(chunks.has(&[ids[1], none]).unwrap(), [true, false]);
    assert_eq!(&*chunks.get(&ids[0]).unwrap(), b"one");
    assert_eq!(chunks.get(&none).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(chunks.folder(), None);
    let long = vec![0; (1 << 20) + 1];
    assert_eq!(chunks.put(&[&long]).unwrap_err().kind(), ErrorKind::Invalid);
    chunks.sync().unwrap();
    drop(engine);
    assert_eq!(chunks.get(&ids[0]).unwrap_err().kind(), ErrorKind::Unavailable);
}
