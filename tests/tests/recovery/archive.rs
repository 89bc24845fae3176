//! The archive: one test for each row.

use std::fs;
use std::path::Path;

use milepost::Engine;
use milepost::store::Outcome;
use milepost_tests::folder;

use crate::recovery::check::{Whole, beside, clean, opens, refuses, repairs, same};
use crate::recovery::stores::{Damage, Stores, archive, cut, name, options};

const REPAIRED: Outcome = Outcome::Repaired;

#[test]
fn a_complete_archive_goes_on() {
    let stores = Stores::make();
    for store in ["closed", "killed", "held"] {
        let root = stores.copy(store, "store");
        let before = Whole::of_store(&root);
        let archived: Vec<_> = archive(&root).iter().map(fs::read).map(Result::unwrap).collect();
        opens(&root, &before, &[], store);
        let now = archive(&root).into_iter().take(archived.len());
        let now: Vec<_> = now.map(fs::read).map(Result::unwrap).collect();
        assert!(now == archived, "{store}: nothing was written again");
    }
}

#[test]
fn an_archive_file_that_is_missing_is_written_again_from_sled() {
    let stores = Stores::make();
    for store in ["closed", "killed"] {
        let before = Whole::of_store(&stores.path(store));
        for gone in [&[0][..], &[1], &[2], &[0, 1], &[1, 2], &[0, 2], &[0, 1, 2]] {
            let root = stores.copy(store, "store");
            let all = archive(&root);
            for n in gone {
                fs::remove_file(&all[*n]).unwrap();
            }
            let how = format!("{store}, {gone:?} missing");
            // One for each run of commits that is missing.
            let runs = if gone == [0, 2] { 2 } else { 1 };
            let expected = vec![(REPAIRED, "archive"); runs];
            repairs(&root, &before, &expected, &[], &how);
        }
    }
}

#[test]
fn an_archive_file_that_is_cut_or_has_a_damaged_beginning_or_end_is_written_again_from_sled() {
    let stores = Stores::make();
    let damages: [Damage; 5] = [
        ("cut in the middle", |file| {
            cut(file, fs::read(file).unwrap().len() / 2);
        }),
        ("empty", |file| cut(file, 0)),
        ("a bit of the header", |file| folder::flip(file, 20).unwrap()),
        ("a bit of the last table", |file| {
            folder::flip(file, fs::read(file).unwrap().len() as u64 - 20).unwrap();
        }),
        ("more behind the last table", |file| {
            let mut bytes = fs::read(file).unwrap();
            bytes.extend_from_slice(b"more");
            fs::write(file, bytes).unwrap();
        }),
    ];
    for store in ["closed", "killed"] {
        let before = Whole::of_store(&stores.path(store));
        for (how, damage) in damages {
            for n in 0..3 {
                if store == "killed" && n != 1 {
                    continue;
                }
                let root = stores.copy(store, "store");
                let file = archive(&root)[n].clone();
                damage(&file);
                let how = format!("{store}, file {n}: {how}");
                let place = name(&file);
                repairs(&root, &before, &[(REPAIRED, &place)], &[&file], &how);
            }
        }
    }
}

#[test]
fn an_archive_file_of_another_store_or_under_another_name_is_written_again_from_sled() {
    let (stores, other) = (Stores::make(), Stores::make());
    let before = Whole::of_store(&stores.path("closed"));
    let root = stores.copy("closed", "store");
    let file = archive(&root)[1].clone();
    fs::copy(&archive(&other.path("closed"))[1], &file).unwrap();
    let place = name(&file);
    let expected = [(REPAIRED, &*place)];
    repairs(&root, &before, &expected, &[&file], "another store's");
    let root = stores.copy("closed", "store");
    let all = archive(&root);
    fs::copy(&all[0], &all[1]).unwrap();
    repairs(&root, &before, &expected, &[&file], "a copy of the one before");
}

/// Flips a bit inside the first block of an archive file.
fn damage_inside(file: &Path) {
    folder::flip(file, 4096 + 64 + 20).unwrap();
}

#[test]
fn an_archive_file_damaged_inside_goes_on_and_verify_finds_it() {
    let stores = Stores::make();
    for store in ["closed", "killed"] {
        let before = Whole::of_store(&stores.path(store));
        for n in 0..3 {
            let root = stores.copy(store, "store");
            let file = archive(&root)[n].clone();
            let whole = fs::read(&file).unwrap();
            damage_inside(&file);
            let how = format!("{store}, file {n}");
            let engine = Engine::open(&root, options()).unwrap();
            assert!(engine.store().report().findings.is_empty(), "{how}");
            same(&Whole::of(&engine), &before, &how);
            let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
            let all: Vec<_> = report.faults.iter().map(|f| f.message.clone()).collect();
            assert_eq!(all.len(), 1, "{how}: {all:?}");
            assert!(all[0].contains(&name(&file)), "{how}: {all:?}");
            // One task is looked at in sled only.
            let report = engine.integrity().verify(Some("essay"), &mut |_, _| {}).unwrap();
            assert!(report.is_clean(), "{how}: {:?}", report.faults);
            engine.close().unwrap();
            fs::write(&file, whole).unwrap();
            opens(&root, &before, &[], &format!("{how}, taken back"));
        }
    }
}

#[test]
fn a_damaged_archive_where_sled_has_to_be_built_anew_is_refused_and_sled_is_put_back() {
    let stores = Stores::make();
    for store in ["closed", "killed"] {
        let whole = stores.path(store);
        let before = Whole::of_store(&whole);
        let archives: [Damage; 3] = [
            ("damaged inside", damage_inside),
            ("missing", |file| fs::remove_file(file).unwrap()),
            ("cut", |file| cut(file, 2000)),
        ];
        for (how, damage) in archives {
            for suspect in [false, true] {
                let n = if suspect { 0 } else { 1 };
                let damage = |root: &Path| {
                    damage(&archive(root)[n]);
                    if suspect {
                        // Damage was met in it before: it has everything all the same.
                        fs::write(root.join("sled-suspect"), "").unwrap();
                    } else {
                        fs::write(root.join("sled/conf"), "no settings").unwrap();
                    }
                };
                let how = format!("{store}, {how}, suspect {suspect}");
                refuses(&whole, &before, damage, "", &how);
            }
        }
    }
}

#[test]
fn the_error_of_a_damaged_archive_and_sled_names_the_archive_file_and_what_is_wrong_with_sled() {
    let stores = Stores::make();
    let root = stores.copy("closed", "store");
    let file = archive(&root)[1].clone();
    damage_inside(&file);
    let sled = crate::recovery::check::files(&root.join("sled"));
    fs::remove_file(root.join("sled/conf")).unwrap();
    fs::write(root.join("sled/conf"), "no settings").unwrap();
    let error = Engine::open(&root, options()).unwrap_err();
    assert!(error.to_string().contains(&name(&file)), "{error}");
    assert!(error.to_string().contains("sled"), "{error}");
    assert!(!root.join("damaged/sled").exists(), "it is put back");
    let db = fs::read(root.join("sled/db")).unwrap();
    assert!(Some(&db) == sled.get(Path::new("db")));
}

#[test]
fn what_was_written_again_is_a_copy_that_sled_is_built_anew_from_again_and_again() {
    // A file that was written again has no check of its last frame: what follows it is told by its
    // number.
    let stores = Stores::make();
    let before = Whole::of_store(&stores.path("killed"));
    let root = stores.copy("killed", "store");
    for n in [1, 0, 2] {
        fs::remove_file(&archive(&root)[n]).unwrap();
        let engine = Engine::open(&root, options()).unwrap();
        assert_eq!(engine.store().report().findings.len(), 1, "file {n}");
        same(&Whole::of(&engine), &before, "written again");
        clean(&engine, "written again");
        engine.close().unwrap();
        let without = beside(&root);
        fs::remove_dir_all(without.join("sled")).unwrap();
        opens(&without, &before, &[(REPAIRED, "sled")], "built anew");
    }
}
