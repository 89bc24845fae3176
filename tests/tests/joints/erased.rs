//! Erased bodies leave nothing on the disk that gives them away.

use std::fs;
use std::path::Path;

use milepost::events::Message;
use milepost::retention::Policy;
use milepost::state::MessageRange;
use milepost::{Append, Body, Engine, Mark, Options};
use milepost_codec::{BodyForm, Hash, LogKind, Salts, Sections, Seed, body_hash, salt};
use milepost_tests::{archive, folder};

const PIN: u32 = 7294;

fn pin(n: u32) -> Body {
    Message::text("user", &format!("my pin is {n:04}")).into()
}

/// Seeds in the archive, with the offset at which their append begins.
type Seeds = Vec<(Seed, u64)>;

/// The seeds in the archive, and the hashes of erased bodies by their offsets.
fn left(root: &Path) -> (Seeds, Vec<(u64, Hash)>) {
    let (mut seeds, mut erased) = (Vec::new(), Vec::new());
    for path in folder::files(&root.join("archive"), ".mpa").unwrap() {
        let bytes = fs::read(path).unwrap();
        for (log, first, section) in archive::commits(&bytes, None).into_values().flatten() {
            if let LogKind::Control = log.kind {
                continue;
            }
            let section = Sections::new(&section).next().unwrap().unwrap();
            if let Salts::Seeded(seed, index) = section.salts {
                seeds.push((seed, first.wrapping_sub(index)));
            }
            for (at, record) in (first..).zip(section.iter()) {
                let record = record.unwrap();
                if record.form == BodyForm::Erased {
                    erased.push((at, record.body_hash(&[0; 16]).unwrap()));
                }
            }
        }
    }
    (seeds, erased)
}

/// Guesses the pin from the content of the files.
fn guessed(root: &Path) -> Option<u32> {
    let (seeds, erased) = left(root);
    assert_eq!(erased.len(), 1);
    let (at, hash) = erased[0];
    let bodies = |n| pin(n).encode().1;
    let is = |n: &u32| {
        let mut seeds = seeds.iter();
        let guess = |(seed, begin): &(Seed, u64)| {
            let salt = salt(*seed, at.wrapping_sub(*begin));
            body_hash(&salt, BodyForm::Inline, &bodies(*n)) == hash
        };
        seeds.any(guess)
    };
    (PIN - 20..PIN + 20).find(is)
}

/// A store with a pin inside an append of several sections, at offset 11.
fn store(root: &Path) -> Engine {
    let engine = Engine::open(root, Options::default().snapshots(false)).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let text = |n: u32| Message::text("user", &format!("{n} {}", "word ".repeat(200)));
    let mut bodies: Vec<Body> = (0..30).map(|n| text(n).into()).collect();
    bodies[10] = pin(PIN);
    task.append(Append::batch(bodies)).unwrap();
    engine
}

#[test]
fn a_short_body_that_was_erased_cannot_be_guessed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = store(&root);
    engine.retention().erase(&engine.point("essay@11").unwrap(), None).unwrap();
    // Both copies are the same before the compaction, between its steps, and after it.
    for _ in 0..2 {
        let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{:?}", report.faults.first());
        engine.retention().compact(&mut |_| {}).unwrap();
    }
    engine.close().unwrap();
    assert_eq!(guessed(&root), None);
}

#[test]
fn nor_where_the_first_sections_of_its_append_are_trimmed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = store(&root);
    let task = engine.task("essay").unwrap();
    // A base in the middle of the first section.
    for at in [2, 3] {
        task.checkpoint(Mark::new().at(at)).unwrap();
    }
    engine.retention().retain(&Policy::new().keep(1).undo(0)).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    assert!(task.read(..).unwrap().next().unwrap().unwrap().offset > 0);
    engine.retention().erase(&engine.point("essay@11").unwrap(), None).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.faults.first());
    drop(task);
    engine.close().unwrap();
    assert_eq!(guessed(&root), None);
}

#[test]
fn a_base_is_not_made_of_a_snapshot_with_what_was_erased() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let open = || Engine::open(&root, Options::default()).unwrap();
    let engine = open();
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(pin(PIN)).unwrap();
    task.checkpoint(Mark::new()).unwrap();
    // The snapshotter is another thread: more events until it made one.
    while engine.store().stats().unwrap().snapshots < 2 {
        task.append(Message::text("user", &"word ".repeat(200))).unwrap();
    }
    let head = task.head().unwrap().next;
    engine.retention().erase(&engine.point("essay@1").unwrap(), None).unwrap();
    // A base at every place at which that snapshot may be.
    for at in 2..=head {
        task.checkpoint(Mark::new().at(at)).unwrap();
    }
    for keep in (1..=head - 2).rev() {
        let keep = usize::try_from(keep).unwrap();
        engine.retention().retain(&Policy::new().keep(keep).undo(0)).unwrap();
        let state = engine.run_state(&engine.point("essay").unwrap()).unwrap();
        let chunks = engine.chunks();
        let state = state.to_json(chunks.as_ref(), MessageRange::All).unwrap();
        let text = state.to_string();
        assert!(!text.contains("my pin"), "it is there with {keep} checkpoints");
    }
}
