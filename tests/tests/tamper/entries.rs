//! sled changed with care: its digest and its record of the close fit. The journal and the archive
//! are left as they were.

use std::fs;
use std::path::Path;

use milepost::{Engine, ErrorKind, Hash, Point, RunState, StoreKey};
use milepost_codec::{
    BodyForm, Chain, ChunkEntry, ChunkId, LogId, Packing, RunBlock, Salts, Sealing, SectionRef,
    Snapshot, check_of, encode_record,
};
use milepost_tests::folder;

use crate::tamper::forge::{Entries, replace};
use crate::tamper::stores::{SECRET, Store, TUNING, faults, message, options, said};

fn keys() -> [Option<StoreKey>; 2] {
    [None, Some(StoreKey::new(&SECRET))]
}

/// An edit of entries shows to `verify`, and neither to opening nor to an anchor, key or not.
fn only_verify_finds(how: &str, edit: impl Fn(&Entries), check: impl Fn(&Engine)) {
    for key in keys() {
        let store = Store::make(key);
        let root = store.copy("forged");
        let entries = Entries::open(&root);
        edit(&entries);
        entries.close();
        let engine = store.open(&root).unwrap();
        let findings = &engine.store().report().findings;
        assert!(findings.is_empty(), "{how}: not found by opening: {findings:?}");
        check(&engine);
        let found = engine.integrity().verify_anchor(&store.anchor).unwrap();
        assert!(found.is_empty(), "{how}: not found by the anchor: {found:?}");
        assert!(!faults(&engine).is_empty(), "{how}: found by verify");
        engine.close().unwrap();
        // The source of the entries is still there: rebuilt, they are right again.
        fs::remove_dir_all(root.join("sled")).unwrap();
        let engine = store.open(&root).unwrap();
        assert!(faults(&engine).is_empty(), "{how}: {:?}", faults(&engine));
    }
}

#[test]
fn an_owner_changed_in_the_index_shows_to_verify() {
    let edit = |entries: &Entries| {
        let (key, mut value) = entries.all(17).remove(0);
        replace(&mut value, b"ana", b"eve");
        entries.put(&key, Some(&value));
    };
    only_verify_finds("owner", edit, |engine| {
        assert_eq!(engine.task("essay").unwrap().user(), "eve");
    });
}

#[test]
fn a_label_added_to_the_index_shows_to_verify() {
    let edit = |entries: &Entries| {
        let (mut key, _) = entries.all(34).remove(0);
        replace(&mut key, b"draft-0", b"forged!");
        entries.put(&key, Some(&[]));
    };
    only_verify_finds("label added", edit, |engine| {
        assert!(engine.point("essay@forged!").is_ok());
    });
}

#[test]
fn a_label_taken_out_of_the_index_shows_to_verify() {
    let edit = |entries: &Entries| {
        let (key, _) = entries.all(34).remove(0);
        entries.put(&key, None);
    };
    only_verify_finds("label removed", edit, |engine| {
        assert!(engine.point("essay@draft-0").is_err());
    });
}

#[test]
fn an_activation_forged_in_the_index_shows_to_verify() {
    let edit = |entries: &Entries| {
        let (mut key, mut value) = entries.all(21).remove(0);
        // The next epoch, with the branch: the lineage is the first field.
        *key.last_mut().unwrap() += 1;
        value[0] = 1;
        entries.put(&key, Some(&value));
    };
    only_verify_finds("activation", edit, |engine| {
        assert_eq!(engine.task("essay").unwrap().lineage().id().0, 1);
    });
}

#[test]
fn a_checkpoint_hidden_from_lists_shows_to_verify() {
    let edit = |entries: &Entries| {
        for kind in [30, 31, 32] {
            let (key, _) = entries.all(kind).remove(0);
            entries.put(&key, None);
        }
    };
    only_verify_finds("checkpoint", edit, |engine| {
        let all = engine.query().checkpoints(&milepost::query::CheckpointQuery::default());
        assert_eq!(all.unwrap().items.len(), 3);
    });
}

#[test]
fn an_entry_changed_without_care_is_repaired_by_opening() {
    for key in keys() {
        let store = Store::make(key);
        let root = store.copy("forged");
        let entries = Entries::open(&root);
        let (key, mut value) = entries.all(17).remove(0);
        replace(&mut value, b"ana", b"eve");
        entries.put(&key, Some(&value));
        drop(entries);
        let engine = store.open(&root).unwrap();
        assert_eq!(engine.store().report().findings.len(), 1);
        assert_eq!(engine.task("essay").unwrap().user(), "ana");
        assert!(faults(&engine).is_empty());
    }
}

/// Changes the text of the last event of a log in its block, with its chain and head.
fn forge_block(entries: &Entries, log: LogId, chain: Chain, read_key: Option<&StoreKey>) {
    let mut runs = entries.all(1).into_iter();
    let of_log = |key: &[u8]| {
        key[1..9] == log.task.0.to_be_bytes() && key[9..13] == log.kind.number().to_be_bytes()
    };
    let (key, place) = runs.rfind(|(key, _)| of_log(key)).unwrap();
    let at = u64::from_le_bytes(place[4..12].try_into().unwrap()) as usize;
    let len = u32::from_le_bytes(place[12..16].try_into().unwrap()) as usize;
    let member = u16::from_le_bytes(place[16..].try_into().unwrap());
    let file = fs::read(entries.root.join("sled/blocks/0000000001.blocks")).unwrap();
    let block = RunBlock::decode(&file[at..at + len], read_key).unwrap();
    let run = block.runs().nth(member.into()).unwrap();
    let (mut hash, mut old, mut at) = (run.prev, run.prev, run.first);
    let mut sections = Vec::new();
    for section in block.sections(member.into()) {
        let section = section.unwrap();
        let (mut records, mut salts) = (Vec::new(), Vec::new());
        for (n, record) in (0..).zip(section.iter()) {
            let record = record.unwrap();
            let salt = section.salt(n);
            let mut payload = record.payload.to_vec();
            old = chain.next(at, &old, record.header, &record.body_hash(&salt).unwrap());
            at += 1;
            if at == run.end() {
                replace(&mut payload, b"after the mark", b"never was said");
            }
            let body = milepost_codec::body_hash(&salt, BodyForm::Inline, &payload);
            hash = chain.next(at - 1, &hash, record.header, &body);
            encode_record(&mut records, record.header, record.form, &payload);
            salts.extend_from_slice(&salt);
        }
        SectionRef {
            records: &records,
            salts: match section.salts {
                Salts::Seeded(..) => section.salts,
                Salts::Explicit(_) => Salts::Explicit(&salts),
            },
            ..section
        }
        .encode(&mut sections);
    }
    let (packing, mut forged) = (Packing::Level(1), Vec::new());
    let sealing = Sealing { packing, rewritten: false, epoch: 0, key: None };
    RunBlock::encode(&[(run, vec![&sections])], &sealing, &mut forged).unwrap();
    let mut place = entries.append_block(&forged);
    place.extend_from_slice(&[0, 0]);
    entries.put(&key, Some(&place));
    let heads = entries.all(2).into_iter();
    let mut heads = heads.filter(|(key, _)| of_log(key));
    let (key, mut value) = heads.next().unwrap();
    if value.windows(32).any(|bytes| bytes == old.0) {
        replace(&mut value, &old.0, &hash.0);
        entries.put(&key, Some(&value));
    }
}

fn origin(store: &Store, log: LogId) -> milepost::ids::Origin {
    let logs = store.anchor.logs.iter();
    let mut of_task = logs.filter(|anchored| anchored.task == log.task);
    of_task.next().unwrap().origin
}

#[test]
fn an_event_changed_in_sled_alone_shows_to_verify_and_to_an_anchor() {
    let store = Store::make(None);
    let root = store.copy("forged");
    let entries = Entries::open(&root);
    let chain = Chain::new(origin(&store, TUNING), TUNING);
    forge_block(&entries, TUNING, chain, None);
    entries.close();
    let engine = store.open(&root).unwrap();
    assert!(engine.store().report().findings.is_empty(), "not found by opening");
    let said = said(&engine, "tuning").unwrap();
    assert!(said.last().unwrap().contains("never was said"), "{said:?}");
    // The chain fits: it is the other copy that tells.
    let found = faults(&engine);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("the two copies differ"), "{found:?}");
    let found = engine.integrity().verify_anchor(&store.anchor).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].place, TUNING.to_string());
}

#[test]
fn an_event_changed_in_sled_without_the_key_cannot_be_read() {
    let key = StoreKey::new(&SECRET);
    let store = Store::make(Some(key));
    let root = store.copy("forged");
    let entries = Entries::open(&root);
    // The forger computes all but what needs the key. To read a block it is not needed.
    let chain = Chain::new(origin(&store, TUNING), TUNING);
    forge_block(&entries, TUNING, chain, Some(&key));
    entries.close();
    let engine = store.open(&root).unwrap();
    let error = said(&engine, "tuning").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let verified = engine.integrity().verify(None, &mut |_, _| {});
    let suspect = root.join("sled-suspect");
    assert!(suspect.exists(), "the next opening repairs it");
    drop(engine);
    let again = root.with_extension("again");
    folder::copy(&root, &again).unwrap();
    let engine = store.open(&again).unwrap();
    let said = said(&engine, "tuning").unwrap();
    assert!(said.last().unwrap().contains("after the mark"), "{said:?}");
    assert!(faults(&engine).is_empty());
    assert!(engine.integrity().verify_anchor(&store.anchor).unwrap().is_empty());
    // A block that cannot be read is in the report; it does not end the verification.
    let report = verified.expect("what is found is in the report");
    assert!(!report.is_clean(), "found by verify");
}

/// Puts the state of another task into the snapshot of one, in a pack and in sled, with right
/// checks.
fn forge_snapshot(root: &Path) -> bool {
    let pack = folder::files(&root.join("packs"), ".pack").unwrap().remove(0);
    let mut bytes = fs::read(&pack).unwrap();
    let entries = Entries::open(root);
    let notes = entries.all(50);
    let of = |task: u64| {
        let mut notes = notes.iter().rev();
        notes.find(|(key, _)| key[1..9] == task.to_be_bytes()).unwrap()
    };
    let read = |note: &[u8]| {
        let id = ChunkId(note[..32].try_into().unwrap());
        let mut key = vec![4];
        key.extend_from_slice(&id.0);
        let place = entries.all(4).into_iter().find(|(k, _)| *k == key).unwrap().1;
        let at = u64::from_le_bytes(place[4..12].try_into().unwrap()) as usize;
        let len = u32::from_le_bytes(place[12..16].try_into().unwrap()) as usize;
        Snapshot::decode(&ChunkEntry::decode(&bytes[at..at + len]).unwrap().1).unwrap()
    };
    let (essay, tuning) = (of(1), of(2));
    let forged = Snapshot { head: read(&essay.1).head, ..read(&tuning.1) };
    let at = bytes.len() as u64;
    let mut entry = Vec::new();
    let id = ChunkEntry::encode(&forged.encode(), false, &mut entry).unwrap();
    bytes.extend_from_slice(&entry);
    fs::write(&pack, bytes).unwrap();
    let mut place = 1_u32.to_le_bytes().to_vec();
    place.extend_from_slice(&at.to_le_bytes());
    place.extend_from_slice(&(entry.len() as u32).to_le_bytes());
    let mut key = vec![4];
    key.extend_from_slice(&id.0);
    entries.put(&key, Some(&place));
    let mut note = essay.1.clone();
    note[..32].copy_from_slice(&id.0);
    // The check that needs no key.
    let check_at = note.len() - 16;
    note[check_at..].fill(0);
    let check = check_of(None, &[b"milepost.note.2\0", &essay.0[..], &note]);
    note[check_at..].copy_from_slice(&check);
    entries.put(&essay.0, Some(&note));
    entries.close();
    forged.head.hash != Hash([0; 32])
}

/// Two tasks that are long enough for snapshots: the store, the head of the first, and the state
/// there.
fn with_snapshots(root: &Path, key: Option<StoreKey>) -> (Engine, Point, RunState) {
    let engine = Engine::open(root, options(key)).unwrap();
    for name in ["essay", "tuning"] {
        let task = engine.start_task(name, "ana").unwrap();
        for n in 0..600 {
            let text = milepost_tests::bodies::text(n, 500);
            task.append(message(&format!("{name} {text}"))).unwrap();
        }
    }
    let point = engine.point("essay").unwrap();
    let right = engine.run_state(&point).unwrap();
    (engine, point, right)
}

#[test]
fn a_snapshot_replaced_with_care_shows_to_a_fold_and_is_not_believed_where_there_is_a_key() {
    for key in keys() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("store");
        let (engine, point, right) = with_snapshots(&root, key);
        let anchor = engine.integrity().anchor().unwrap();
        engine.close().unwrap();
        assert!(forge_snapshot(&root));
        let engine = milepost::Engine::open(&root, options(key)).unwrap();
        assert!(engine.store().report().findings.len() <= 1);
        assert!(engine.integrity().verify_anchor(&anchor).unwrap().is_empty());
        let forged = engine.run_state(&point).unwrap() != right;
        assert_eq!(forged, key.is_none(), "what has no key gives the forged state");
        assert_eq!(faults(&engine).is_empty(), key.is_none(), "and verify sees it with a key only");
        assert!(!engine.integrity().verify_states(None).unwrap().is_empty(), "a fold finds it");
        assert!(engine.integrity().verify_states(Some("tuning")).unwrap().is_empty());
        engine.close().unwrap();
        let report = milepost::repair::repair(&root, &options(key), false).unwrap();
        assert!(report.verified.is_clean() && report.lost.is_empty());
        let engine = milepost::Engine::open(&root, options(key)).unwrap();
        assert_eq!(engine.run_state(&point).unwrap() == right, key.is_some(), "I5");
    }
}

#[test]
fn a_state_from_events_alone_is_right_whatever_the_snapshots_are() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let (engine, point, right) = with_snapshots(&root, None);
    engine.close().unwrap();
    forge_snapshot(&root);
    // Snapshots are in no copy that sled is built anew from.
    fs::remove_dir_all(root.join("sled")).unwrap();
    let engine = milepost::Engine::open(&root, options(None)).unwrap();
    assert_eq!(engine.run_state(&point).unwrap(), right, "I5");
}

/// Makes a store with removed content.
fn retained(key: Option<StoreKey>) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, options(key)).unwrap();
    for name in ["kept", "deleted"] {
        let task = engine.start_task(name, "ana").unwrap();
        for n in 0..4 {
            task.append(message(&format!("{name} {n}"))).unwrap();
            task.checkpoint(milepost::Mark::new()).unwrap();
        }
    }
    engine.retention().retain(&milepost::retention::Policy::new().keep(2)).unwrap();
    let task = engine.task("kept").unwrap();
    let late = task.append(message("late")).unwrap().first;
    engine.retention().erase(&task.point(late).unwrap(), None).unwrap();
    engine.retention().delete_task("deleted").unwrap();
    assert!(faults(&engine).is_empty());
    engine.close().unwrap();
    (dir, root)
}

/// Checks that `verify` reports an edit of the index that reverts or fakes retention.
fn retention_shows(how: &str, edit: impl Fn(&Entries)) {
    for key in keys() {
        let (_dir, root) = retained(key);
        let entries = Entries::open(&root);
        edit(&entries);
        entries.close();
        let found = match Engine::open(&root, options(key)) {
            Ok(engine) => !faults(&engine).is_empty(),
            Err(error) => error.kind() == ErrorKind::Corrupt,
        };
        assert!(found, "{how}");
    }
}

#[test]
fn what_retention_did_taken_back_or_feigned_in_the_index_shows_to_verify() {
    // A deleted task is there again: its tombstone is the entry of another.
    retention_shows("tombstone", |entries| {
        let tasks = entries.all(17);
        let [(_, kept), (deleted, _)] = tasks.as_slice() else { panic!("two tasks") };
        entries.put(deleted, Some(kept));
    });
    retention_shows("deleted again", |entries| {
        let tasks = entries.all(17);
        let [(kept, _), (_, deleted)] = tasks.as_slice() else { panic!("two tasks") };
        entries.put(kept, Some(deleted));
    });
    retention_shows("a tally", |entries| {
        let (key, mut value) = entries.all(18).remove(0);
        value[0] ^= 1;
        entries.put(&key, Some(&value));
    });
    retention_shows("an erasure taken back", |entries| {
        let (key, _) = entries.all(23).remove(0);
        entries.put(&key, None);
    });
    retention_shows("an erasure feigned", |entries| {
        let (mut key, value) = entries.all(23).remove(0);
        let last = key.len() - 1;
        key[last] ^= 1;
        entries.put(&key, Some(&value));
    });
    retention_shows("a base taken away", |entries| {
        let (key, _) = entries.all(22).remove(0);
        entries.put(&key, None);
    });
    retention_shows("a checkpoint taken away", |entries| {
        let (key, _) = entries.all(30).remove(0);
        let place = key[1..].to_vec();
        for kind in [30, 31, 32] {
            for (key, _) in entries.all(kind) {
                if key[1..].ends_with(&place[8..]) {
                    entries.put(&key, None);
                }
            }
        }
    });
}
