//! A secret through every feature: once it is withdrawn and the store compacted, no file and no
//! reader has it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use milepost::events::Message;
use milepost::retention::Policy;
use milepost::{Engine, Mark};
use milepost_tests::search;
use milepost_tests::seed::Random;

use crate::joints::place::Place;
use crate::joints::planted::{ROWS, Row, Way};
use crate::joints::readers::{Readers, beside_a_fold};

/// A text that nothing else has.
fn secret(random: &mut Random) -> String {
    (0..3).map(|_| format!("{:016x}", random.number())).collect()
}

/// Takes the secret away.
fn withdraw(engine: &Engine, victim: &str, offset: u64, way: Way) {
    match way {
        Way::Erase => {
            let point = engine.point(&format!("{victim}@{offset}")).unwrap();
            engine.retention().erase(&point, None).unwrap();
        }
        Way::Delete => engine.retention().delete_task(victim).unwrap(),
        Way::Cleanup => {
            let task = engine.task(victim).unwrap();
            for n in 0..2 {
                task.append(Message::text("user", &format!("{n}"))).unwrap();
                task.checkpoint(Mark::new()).unwrap();
            }
            let report = engine.retention().retain(&Policy::new().keep(1).undo(0)).unwrap();
            assert!(!report.tasks.is_empty(), "{report:?}");
        }
    }
}

fn found(root: &Path, secret: &str) -> Vec<String> {
    let found = search::holding(root, &[secret]);
    let below = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    found.iter().map(|(path, _)| below(path)).collect()
}

fn assert_gone(row: &Row, way: Way, random: &mut Random) {
    let secret = secret(random);
    let mut place = Place::begin();
    let offset = (row.plant)(&mut place, &secret);
    let what = format!("{} ({way:?})", row.name);
    let engine = place.engine().clone();
    let task = engine.task(&place.victim).unwrap();
    let readers = Readers::open(&engine, &task);
    engine.store().drain().unwrap();
    // The search finds it while it is there.
    let before = found(&place.root(), &secret);
    let within = before.iter().any(|path| path.starts_with(row.within));
    assert!(within, "{what} is in {before:?} only");

    let head = task.point(task.head().unwrap().next).unwrap();
    let stored = beside_a_fold(&engine, &head, &secret, || {
        withdraw(&engine, &place.victim, offset, way);
    });
    let report = engine.retention().compact(&mut |_| {}).unwrap();
    let after = found(&place.root(), &secret);
    assert!(after.is_empty(), "{what} is in {after:?}");
    assert!(report.untouched.is_empty(), "{what}: {report:?}");
    assert_eq!(report.packs_left, None, "{what}");
    if let Some(id) = stored {
        assert!(engine.chunks().get(&id).is_err(), "{what} is in memory");
    }
    let given = readers.given(&engine);
    let told = given.iter().find(|told| told.contains(&secret));
    assert_eq!(told, None, "{what} is given by a reader");
    let verified = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(verified.is_clean(), "{what}: {:?}", verified.faults.first());

    drop((task, engine));
    place.reopen();
    let after = found(&place.root(), &secret);
    assert!(after.is_empty(), "{what} comes back in {after:?}");
}

#[test]
fn what_is_withdrawn_is_in_no_file_and_given_by_no_reader() {
    let mut random = Random::new(milepost_tests::seed::seed());
    let mut failed = Vec::new();
    for row in ROWS {
        for way in row.ways {
            let gone = catch_unwind(AssertUnwindSafe(|| assert_gone(row, *way, &mut random)));
            failed.extend(gone.is_err().then_some((row.name, way)));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn files_that_no_compaction_touches_are_named() {
    let mut place = Place::begin();
    let root = place.root();
    std::fs::create_dir(root.join("unrecorded")).unwrap();
    for name in ["a-new-kind", "workspace.new", "unrecorded/1.jsonl"] {
        std::fs::write(root.join(name), "").unwrap();
    }
    let mut report = place.engine().retention().compact(&mut |_| {}).unwrap();
    report.untouched.sort();
    let names = ["a-new-kind", "unrecorded/1.jsonl", "workspace.new"];
    assert_eq!(report.untouched, names.map(|name| root.join(name)));
    place.reopen();
}
