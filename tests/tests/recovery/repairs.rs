//! Damage that was repaired leaves a record.

use std::fs;
use std::path::Path;

use milepost::store::Repair;
use milepost::{Engine, Options};
use milepost_tests::folder;

use crate::recovery::check::{Whole, same};
use crate::recovery::stores::{Damage, Stores, archive, cut, options, segments};

fn verified(engine: &Engine) -> Vec<Repair> {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.faults);
    engine.integrity().note_verified(&report);
    report.repairs
}

/// Opens a store and closes it, as a command does that says nothing of records.
fn opened(root: &Path, options: Options) {
    Engine::open(root, options).unwrap().close().unwrap();
}

fn newest(root: &Path) -> std::path::PathBuf {
    segments(root).pop().unwrap()
}

/// Damage of each file that has a second copy, with the name that its record has.
const DAMAGES: [(&str, Damage); 9] = [
    ("journal/", ("a byte of the journal", |root| folder::flip(&newest(root), 300).unwrap())),
    (
        "journal/",
        ("the journal's tail zeroed", |root| {
            let path = newest(root);
            let mut bytes = fs::read(&path).unwrap();
            let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
            bytes[end / 2..].fill(0);
            fs::write(path, bytes).unwrap();
        }),
    ),
    (
        "journal/",
        ("the frame of the close zeroed", |root| {
            let path = newest(root);
            let mut bytes = fs::read(&path).unwrap();
            let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
            bytes[end - 24..].fill(0);
            fs::write(path, bytes).unwrap();
        }),
    ),
    ("archive/", ("an archive file removed", |root| fs::remove_file(&archive(root)[1]).unwrap())),
    ("archive/", ("an archive file cut", |root| cut(&archive(root)[1], 2000))),
    ("sled", ("sled removed", |root| fs::remove_dir_all(root.join("sled")).unwrap())),
    ("sled", ("sled's settings", |root| fs::write(root.join("sled/conf"), "no settings").unwrap())),
    (
        "store.copy",
        ("the settings' copy", |root| fs::write(root.join("store.copy"), "no").unwrap()),
    ),
    ("acked", ("the witness", |root| fs::remove_file(root.join("acked")).unwrap())),
];

#[test]
fn damage_that_was_repaired_leaves_a_record_until_it_is_acknowledged() {
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("closed"));
    for (place, (how, damage)) in DAMAGES {
        let root = stores.copy("closed", "store");
        let engine = Engine::open(&root, options()).unwrap();
        assert_eq!(verified(&engine), [], "{how}: nothing is damaged yet");
        engine.close().unwrap();
        damage(&root);
        // The first opening is another command's.
        opened(&root, options());
        let engine = Engine::open(&root, options()).unwrap();
        assert!(engine.store().report().findings.is_empty(), "{how}: it is whole again");
        let repairs = verified(&engine);
        let repair = repairs.iter().find(|repair| repair.place.starts_with(place));
        let repair = repair.unwrap_or_else(|| panic!("{how}: {repairs:?}"));
        assert!(repair.complete && repair.whole_us.is_some(), "{how}: {repair:?}");
        assert!(repair.acknowledged_us.is_none() && repair.time_us > 0, "{how}");
        assert!(!repair.mended_from.is_empty() && !repair.message.is_empty(), "{how}");
        same(&Whole::of(&engine), &before, how);
        // A compaction and a rebuild of sled keep it, and one that only reads sees it.
        engine.retention().compact(&mut |_| ()).unwrap();
        engine.close().unwrap();
        fs::write(root.join("sled-suspect"), "a test").unwrap();
        opened(&root, options());
        let reader = Engine::open(&root, options().read_only(true)).unwrap();
        let read = verified(&reader);
        assert!(repairs.iter().all(|repair| read.contains(repair)), "{how}: {read:?}");
        reader.integrity().acknowledge_repairs().unwrap_err();
        reader.close().unwrap();

        let engine = Engine::open(&root, options()).unwrap();
        assert_eq!(engine.integrity().acknowledge_repairs().unwrap(), read.len() as u64, "{how}");
        assert_eq!(verified(&engine), [], "{how}: acknowledged");
        let kept = engine.integrity().repairs().unwrap();
        assert_eq!(kept.len(), read.len(), "{how}: it can be read after that");
        assert!(kept.iter().all(|repair| repair.acknowledged_us.is_some()), "{how}");
        engine.close().unwrap();
    }
}

#[test]
fn a_stop_leaves_no_record_and_neither_does_the_creation_of_a_store_that_was_interrupted() {
    let stores = Stores::make();
    let kills = [("closed", false), ("killed", true), ("held", false), ("closed", true)];
    for (store, is_torn) in kills {
        let root = stores.copy(store, "store");
        if is_torn {
            // An opening removes it, before the append that the kill cuts.
            let _ = fs::remove_file(root.join("sled-closed"));
            let path = newest(&root);
            let mut bytes = fs::read(&path).unwrap();
            let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
            bytes.resize(bytes.len().max(end + 100), 0);
            bytes[end + 8..end + 40].fill(7);
            fs::write(path, bytes).unwrap();
        }
        opened(&root, options());
        let engine = Engine::open(&root, options()).unwrap();
        assert_eq!(verified(&engine), [], "{store}");
        engine.close().unwrap();
    }
    let root = stores.copy("closed", "created");
    for name in ["journal", "archive", "sled", "packs"] {
        fs::remove_dir_all(root.join(name)).unwrap();
    }
    for name in ["journal", "archive", "packs"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    for name in ["acked", "sled-closed", "store"] {
        fs::remove_file(root.join(name)).unwrap();
    }
    let engine = Engine::open(&root, options()).unwrap();
    assert_eq!(engine.store().report().findings.len(), 1);
    assert_eq!(verified(&engine), []);
    engine.close().unwrap();
}

#[test]
fn a_record_that_was_damaged_counts_as_one() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    fs::remove_file(root.join("acked")).unwrap();
    opened(&root, options());
    let whole = fs::read(root.join("repairs")).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    for at in 0..whole.len() - 1 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(root.join("repairs"), &bytes).unwrap();
        let repairs = engine.integrity().repairs().unwrap();
        assert!(repairs.iter().any(|repair| repair.acknowledged_us.is_none()), "byte {at}");
    }
    fs::write(root.join("repairs"), &whole).unwrap();
    assert_eq!(engine.integrity().acknowledge_repairs().unwrap(), 1);
    assert_eq!(engine.integrity().acknowledge_repairs().unwrap(), 0);
    engine.close().unwrap();
}
