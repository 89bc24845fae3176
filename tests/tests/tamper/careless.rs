//! Bytes changed in files, with no check made to fit: opening repairs it from the other copy,
//! refuses, or a read or `verify` finds it. No edited content is ever returned.

use std::fs;
use std::path::Path;

use milepost::{Engine, ErrorKind, StoreKey};
use milepost_tests::folder;

use crate::tamper::stores::{SECRET, Store, faults, open_anchored, said};

/// Replaces every occurrence of a text in a file.
fn edit(path: &Path, from: &[u8], to: &[u8]) -> usize {
    let mut bytes = fs::read(path).unwrap();
    let places: Vec<_> = (0..bytes.len().saturating_sub(from.len()))
        .filter(|at| bytes[*at..].starts_with(from))
        .collect();
    for at in &places {
        bytes[*at..*at + to.len()].copy_from_slice(to);
    }
    fs::write(path, bytes).unwrap();
    places.len()
}

/// Opens an edited store: returns whether anything reported the edit.
fn told(store: &Store, root: &Path, right: &[String]) -> bool {
    let engine = match store.open(root) {
        Ok(engine) => engine,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            return true;
        }
    };
    match said(&engine, "essay") {
        Ok(now) => assert_eq!(now, right, "what is read is what was said"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            return true;
        }
    }
    assert!(engine.integrity().verify_anchor(&store.anchor).unwrap().is_empty());
    !engine.store().report().findings.is_empty() || !faults(&engine).is_empty()
}

#[test]
fn a_text_changed_in_a_file_is_never_read_and_always_told() {
    for key in [None, Some(StoreKey::new(&SECRET))] {
        let store = Store::make(key);
        let right = said(&store.open(&store.copy("right")).unwrap(), "essay").unwrap();
        let root = store.copy("edited");
        let segment = folder::files(&root.join("journal"), ".seg").unwrap().remove(0);
        let found = edit(&segment, b"said in essay: 1 4", b"nobody said it 1 4");
        assert_eq!(found, 1, "it is in the journal");
        assert!(told(&store, &root, &right), "in the journal");
        // Without sled there is one copy: it is refused.
        let root = store.copy("edited");
        let segment = folder::files(&root.join("journal"), ".seg").unwrap().remove(0);
        edit(&segment, b"said in essay: 1 4", b"nobody said it 1 4");
        fs::remove_dir_all(root.join("sled")).unwrap();
        assert!(store.open(&root).is_err(), "the only copy");
    }
}

#[test]
fn a_flipped_bit_in_any_file_is_never_read_as_something_else() {
    for key in [None, Some(StoreKey::new(&SECRET))] {
        let store = Store::make(key);
        let right = said(&store.open(&store.copy("right")).unwrap(), "essay").unwrap();
        for (dir, ending, parts) in [("journal", ".seg", 40), ("archive", ".mpa", 12)] {
            for part in 1..parts {
                let root = store.copy("edited");
                let file = folder::files(&root.join(dir), ending).unwrap().remove(0);
                let bytes = fs::read(&file).unwrap();
                let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64;
                let at = end * part / parts;
                folder::flip(&file, at).unwrap();
                let told = told(&store, &root, &right);
                let padding = dir == "journal";
                assert!(told || padding, "{dir} at {part} of {parts}");
            }
        }
    }
}

#[test]
fn a_store_with_an_anchor_tells_of_a_tail_that_was_cut_though_the_witness_is_gone() {
    let store = Store::make(None);
    let root = store.copy("cut");
    // Neither the journal's end, nor sled, nor the witness.
    fs::remove_dir_all(root.join("sled")).unwrap();
    fs::remove_file(root.join("acked")).unwrap();
    let segment = folder::files(&root.join("journal"), ".seg").unwrap().remove(0);
    let mut bytes = fs::read(&segment).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[end - 1500..].fill(0);
    fs::write(&segment, bytes).unwrap();
    let copy = root.with_extension("copy");
    folder::copy(&root, &copy).unwrap();
    let engine = Engine::open(&copy, crate::tamper::stores::options(None)).unwrap();
    assert!(faults(&engine).is_empty(), "not found by verify");
    assert!(!engine.integrity().verify_anchor(&store.anchor).unwrap().is_empty());
    let error = open_anchored(&store, &root, &store.anchor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}
