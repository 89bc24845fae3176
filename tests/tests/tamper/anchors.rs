//! Anchors themselves.

use std::fs;

use milepost::integrity::Anchor;
use milepost::{Engine, ErrorKind, Mark, StoreKey};

use crate::tamper::stores::{SECRET, Store, faults, message, open_anchored, options};

#[test]
fn an_anchor_verifies_after_the_store_has_grown_forked_and_gone_back() {
    for key in [None, Some(StoreKey::new(&SECRET))] {
        let store = Store::make(key);
        let root = store.copy("store");
        let check = |engine: &Engine, how: &str| {
            let found = engine.integrity().verify_anchor(&store.anchor).unwrap();
            assert!(found.is_empty(), "{how}: {found:?}");
            assert!(faults(engine).is_empty(), "{how}");
        };
        let engine = store.open(&root).unwrap();
        check(&engine, "as it was");
        let task = engine.task("essay").unwrap();
        for n in 0..200 {
            task.append(message(&format!("later {n}"))).unwrap();
        }
        task.checkpoint(Mark::new().label("later")).unwrap();
        check(&engine, "grown");
        let point = engine.point("essay@draft-1").unwrap();
        engine.branch(&point).run().unwrap();
        check(&engine, "forked");
        engine.restore(&point).run().unwrap();
        check(&engine, "gone back");
        engine.undo("essay").run().unwrap();
        engine.start_task("another", "ana").unwrap();
        check(&engine, "undone");
        drop(task);
        engine.close().unwrap();
        fs::remove_dir_all(root.join("sled")).unwrap();
        let engine = open_anchored(&store, &root, &store.anchor).unwrap();
        check(&engine, "sled built anew");
        let path = root.with_extension("anchor");
        engine.close().unwrap();
        let now = Anchor::read(path).unwrap();
        assert!(now.seq > store.anchor.seq, "it is written anew at close");
        assert!(now.logs.len() > store.anchor.logs.len());
    }
}

#[test]
fn an_anchor_of_another_store_is_invalid() {
    let (store, other) = (Store::make(None), Store::make(None));
    let root = store.copy("store");
    let engine = store.open(&root).unwrap();
    let error = engine.integrity().verify_anchor(&other.anchor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains(&other.anchor.store.to_string()), "{error}");
    engine.close().unwrap();
    let error = open_anchored(&store, &root, &other.anchor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    let kept = fs::read_to_string(root.with_extension("anchor")).unwrap();
    assert_eq!(kept, other.anchor.to_json(), "it is not written over");
}

#[test]
fn a_damaged_anchor_is_corrupt_and_the_store_does_not_open_with_it() {
    let store = Store::make(None);
    let root = store.copy("store");
    let text = store.anchor.to_json();
    let hash = store.anchor.logs[1].hash.to_string();
    let mut other = hash.clone();
    other.replace_range(..1, if hash.starts_with('0') { "1" } else { "0" });
    let next = format!("\"next\": \"{}\"", store.anchor.logs[1].next);
    let task = "\"task\": 1";
    assert!(text.contains(&next) && text.contains(task));
    for (how, damaged) in [
        ("empty", String::new()),
        ("cut", text[..text.len() / 2].to_owned()),
        ("a hash", text.replace(&hash, &other)),
        ("an offset", text.replacen(&next, "\"next\": \"1\"", 1)),
        ("a task", text.replacen(task, "\"task\": 2", 1)),
        ("a lineage", text.replacen("\"lineage\": 0", "\"lineage\": 1", 1)),
        ("a log left out", {
            let mut anchor: serde_json::Value = serde_json::from_str(&text).unwrap();
            anchor["logs"].as_array_mut().unwrap().pop();
            anchor.to_string()
        }),
        ("no anchor", "{}".to_owned()),
    ] {
        assert_ne!(damaged, text, "{how}");
        let error = damaged.parse::<Anchor>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{how}: {error}");
        let path = root.with_extension("anchor");
        fs::write(&path, &damaged).unwrap();
        let error = Engine::open(&root, options(None).anchor_to(&path)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{how}: {error}");
        assert!(error.to_string().contains("store.anchor"), "{how}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged, "{how}");
    }
    let newer = text.replacen("\"milepost_anchor\": 1", "\"milepost_anchor\": 2", 1);
    let error = newer.parse::<Anchor>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(text.parse::<Anchor>().unwrap(), store.anchor);
}

#[test]
fn the_time_and_the_commit_of_an_anchor_are_not_in_its_digest() {
    // They are for people: an edit of them in an anchor's file changes nothing that is compared.
    let store = Store::make(None);
    let seq = format!("\"seq\": \"{}\"", store.anchor.seq);
    let text = store.anchor.to_json().replacen(&seq, "\"seq\": \"1\"", 1);
    let anchor: Anchor = text.parse().unwrap();
    assert_eq!(anchor.digest, store.anchor.digest);
    assert_ne!(anchor.seq, store.anchor.seq);
    let engine = store.open(&store.copy("store")).unwrap();
    assert!(engine.integrity().verify_anchor(&anchor).unwrap().is_empty());
}

#[test]
fn an_anchor_that_was_taken_away_does_not_show() {
    // The file has to be out of reach of an attacker on the store: a new one is begun.
    let store = Store::make(None);
    let root = store.copy("store");
    let path = root.with_extension("anchor");
    let engine = Engine::open(&root, options(None).anchor_to(&path)).unwrap();
    assert!(engine.store().report().findings.is_empty());
    engine.close().unwrap();
    assert_eq!(Anchor::read(path).unwrap().logs, store.anchor.logs);
}

#[test]
fn two_anchors_of_the_same_heads_have_one_digest() {
    let store = Store::make(None);
    let engine = store.open(&store.copy("store")).unwrap();
    assert_eq!(engine.integrity().anchor().unwrap().digest, store.anchor.digest);
    engine.task("essay").unwrap().append(message("on")).unwrap();
    assert_ne!(engine.integrity().anchor().unwrap().digest, store.anchor.digest);
}
