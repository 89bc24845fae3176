//! Keyed stores: with the key, without it, with another; and what of it can be found.

use std::fs;
use std::path::Path;

use milepost::{Engine, ErrorKind, Options, StoreKey};

use crate::tamper::stores::{SECRET, Store, faults, options, said};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn assert_hides(text: &str, secret: &[u8; 32]) {
    let lower = text.to_lowercase();
    assert!(!lower.contains(&hex(secret)), "{text}");
    assert!(!lower.contains(&hex(secret)[..16]), "{text}");
    assert!(!text.contains("that are secret"), "{text}");
}

#[test]
fn a_keyed_store_is_refused_without_its_key_and_with_another_and_the_error_shows_none() {
    let store = Store::make(Some(StoreKey::new(&SECRET)));
    let root = store.copy("store");
    let other = [7; 32];
    let before = said(&store.open(&store.copy("before")).unwrap(), "essay").unwrap();
    for (options, says) in [
        (Options::default(), "has a key"),
        (Options::default().key(StoreKey::new(&other)), "has another key"),
    ] {
        let error = Engine::open(&root, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        for text in [error.to_string(), format!("{error:?}")] {
            assert_hides(&text, &SECRET);
            assert_hides(&text, &other);
        }
    }
    let engine = store.open(&root).unwrap();
    assert!(engine.store().report().findings.is_empty(), "nothing was touched");
    assert_eq!(said(&engine, "essay").unwrap(), before);
    assert!(faults(&engine).is_empty());
}

#[test]
fn a_store_that_was_made_without_a_key_takes_none_later() {
    let store = Store::make(None);
    let root = store.copy("store");
    let error = Engine::open(&root, options(Some(StoreKey::new(&SECRET)))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert_hides(&error.to_string(), &SECRET);
    store.open(&root).unwrap();
}

#[test]
fn a_text_that_is_no_key_is_invalid_and_not_repeated() {
    for text in ["", "not a key", &hex(&SECRET)[..62], &format!("{}00", hex(&SECRET))] {
        let error = text.parse::<StoreKey>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_hides(&error.to_string(), &SECRET);
        assert!(text.is_empty() || !error.to_string().contains(text), "{error}");
    }
    let key: StoreKey = format!(" {}\n", hex(&SECRET).to_uppercase()).parse().unwrap();
    assert_eq!(key, StoreKey::new(&SECRET));
    assert_hides(&format!("{key:?} {:?}", options(Some(key))), &SECRET);
}

fn find(dir: &Path, needles: &[Vec<u8>], found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, needles, found);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let has = |needle: &Vec<u8>| bytes.windows(needle.len()).any(|window| window == needle);
        if needles.iter().any(has) {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn no_file_of_a_keyed_store_has_the_secret() {
    let store = Store::make(Some(StoreKey::new(&SECRET)));
    let root = store.copy("store");
    let engine = store.open(&root).unwrap();
    let anchor = engine.integrity().anchor().unwrap();
    engine.close().unwrap();
    let needles = [
        SECRET.to_vec(),
        hex(&SECRET).into_bytes(),
        hex(&SECRET).to_uppercase().into_bytes(),
        SECRET[..16].to_vec(),
    ];
    let mut found = Vec::new();
    find(&root, &needles, &mut found);
    assert!(found.is_empty(), "{found:?}");
    assert_hides(&anchor.to_json(), &SECRET);
}

#[test]
fn the_same_events_have_other_chain_hashes_with_another_key() {
    let head = |key: Option<StoreKey>| {
        let store = Store::make(key);
        // Origins are random: the roots are those of one origin each.
        let engine = store.open(&store.copy("store")).unwrap();
        assert!(faults(&engine).is_empty());
        let point = engine.point("essay@0").unwrap();
        (store.anchor.logs[1].origin, engine.hash_at(&point).unwrap())
    };
    for key in [None, Some(StoreKey::new(&SECRET))] {
        let (origin, root) = head(key);
        let log = crate::tamper::stores::ESSAY;
        let chain = milepost_codec::Chain::new(origin, log);
        assert_eq!(chain.keyed(key.as_ref()).root(), root);
        assert_eq!(chain.root() == root, key.is_none());
    }
}

#[test]
fn settings_made_to_say_that_there_is_no_key_do_not_open_the_store_without_one() {
    // The settings have a check without a secret, which an attacker can compute.
    let store = Store::make(Some(StoreKey::new(&SECRET)));
    let root = store.copy("store");
    for name in ["store", "store.copy"] {
        let text = fs::read_to_string(root.join(name)).unwrap();
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let id = value["store"].as_str().unwrap().to_owned();
        let segment = value["sled_segment"].as_u64().unwrap();
        let plain = format!(r#"{{"milepost":1,"store":"{id}","sled_segment":{segment}}}"#);
        let check = milepost_codec::ChunkEntry::id_of(plain.as_bytes());
        value.as_object_mut().unwrap().remove("key");
        value["check"] = check.to_string().into();
        fs::write(root.join(name), value.to_string()).unwrap();
    }
    let error = Engine::open(&root, Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    // Nor with it, which the owner notices.
    let error = store.open(&root).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}
