//! Stores that were written once and are kept: every later version reads, verifies, queries and
//! appends to them, and builds sled anew from them.
//!
//! `MILEPOST_BLESS=1` writes them anew: only where the stored format was changed on purpose before
//! it was published, never afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::events::{ControlChanged, Message, PhaseChanged, RunControl};
use milepost::query::{CheckpointQuery, TaskQuery};
use milepost::retention::Policy;
use milepost::state::RunReducer;
use milepost::{Append, Engine, Json, Mark, Options, Reducer, StoreKey};
use milepost_tests::seed::hash;
use milepost_tests::{bodies, folder};
use serde_json::{Value, json};

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// The stores: the name of each, and its key.
fn stores() -> [(&'static str, Option<StoreKey>); 2] {
    [("store-1", None), ("store-1-keyed", Some(StoreKey::new(&[7; 32])))]
}

fn options(key: Option<StoreKey>) -> Options {
    let options = Options::default().create(false);
    match key {
        Some(key) => options.key(key),
        None => options,
    }
}

/// Makes a store with some of everything, as a kill leaves it.
fn make(root: &Path, key: Option<StoreKey>) {
    let work = root.with_extension("work");
    let engine = Engine::open(&work, options(key).create(true)).unwrap();
    let essay = engine.start_task("essay", "ana").unwrap();
    for kind in 0..12 {
        essay.append(bodies::body(kind, u64::from(kind) + 3, 400)).unwrap();
    }
    essay.append(bodies::bytes(1, 300_000)).unwrap();
    let metadata = Json::new(r#"{"score":0.5,"run":"r-1"}"#).unwrap();
    let mark = Mark::new().label("draft").alias("d-1").metadata(metadata);
    essay.checkpoint(mark).unwrap();
    let keyed = Append::batch([text(1), text(2)]).key("sent").actor("agent").correlation("c-1");
    essay.append(keyed.mark(Mark::new())).unwrap();
    let change = |from, to| ControlChanged { from, to, reason: None };
    essay.append(change(RunControl::Idle, RunControl::Running)).unwrap();
    let phase = PhaseChanged { previous: None, phase: "search".into(), iteration: 3 };
    essay.append(phase).unwrap();
    let essay =
        engine.restore(&engine.point("essay@draft").unwrap()).description("again").run().unwrap();
    essay.append(text(3)).unwrap();
    engine.undo("essay").run().unwrap();
    engine.branch(&engine.point("essay@draft").unwrap()).description("aside").run().unwrap();

    let worn = engine.start_task("worn", "bob").unwrap();
    for n in 0..6 {
        worn.append(Append::from(text(10 + n)).key(format!("k-{n}"))).unwrap();
        let mark = worn.checkpoint(Mark::new().label(format!("c-{n}"))).unwrap();
        if n == 3 {
            engine.retention().pin(&mark.id, Some("to compare with")).unwrap();
        }
    }
    let worn = engine.restore(&engine.point("worn@c-4").unwrap()).run().unwrap();
    for n in 6..9 {
        worn.append(text(10 + n)).unwrap();
        worn.checkpoint(Mark::new().label(format!("c-{n}"))).unwrap();
    }
    let secret = worn.append(text(99)).unwrap().first;
    let gone = engine.start_task("gone", "eve").unwrap();
    gone.append(text(4)).unwrap();
    engine.retention().retain(&Policy::new().keep(2).undo(0).task("worn")).unwrap();
    engine.retention().erase(&worn.point(secret).unwrap(), Some("asked for")).unwrap();
    engine.retention().delete_task("gone").unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    // Behind the compaction, and in the journal only.
    engine.start_task("late", "ana").unwrap().append(text(5)).unwrap();
    worn.append(text(6)).unwrap();
    folder::copy_store(&work, root).unwrap();
    engine.close().unwrap();
    fs::remove_dir_all(work).unwrap();
}

fn text(n: u64) -> Message {
    Message::text("user", &bodies::text(n, 60))
}

/// Returns a store's answers about itself.
fn picture(engine: &Engine) -> Value {
    let state = |address: &str| {
        let state = engine.run_state(&engine.point(address).unwrap()).unwrap();
        format!("{:016x}", hash(&RunReducer.encode(&state).unwrap()))
    };
    let mut tasks = engine.query().tasks(&TaskQuery::default()).unwrap().items;
    tasks.reverse();
    let task = |task: milepost::query::TaskInfo| {
        let handle = engine.task(&task.id).unwrap();
        let lineages = handle.lineages().unwrap().into_iter().map(|l| {
            json!({
                "id": l.id.0, "head": l.head.next, "hash": l.head.hash.to_string(),
                "events": l.events, "description": l.description, "active": l.active,
                "parent": l.parent.map(|p| (p.lineage.0, p.offset)),
                "state": state(&format!("{}/{}", task.id, l.id.0)),
                "erased": handle.lineage_named(l.id).unwrap().read(..).unwrap()
                    .map(Result::unwrap).filter(|e| e.body.is_none()).map(|e| e.offset)
                    .collect::<Vec<_>>(),
            })
        });
        let query = CheckpointQuery {
            task: Some(task.id.clone()),
            limit: Some(1000),
            ..CheckpointQuery::default()
        };
        let checkpoints = engine.query().checkpoints(&query).unwrap().items.into_iter().map(|c| {
            json!({
                "id": c.id.to_string(), "at": c.at, "label": c.label, "aliases": c.aliases,
                "metadata": c.metadata.map(|m| m.text().to_owned()),
                "parent": c.parent.map(|p| p.to_string()),
                "state": state(&format!("@{}", c.id)),
            })
        });
        let pins = engine.retention().pins(&task.id).unwrap().into_iter();
        json!({
            "task": task.id, "user": task.user, "epoch": task.epoch,
            "lineages": lineages.collect::<Vec<_>>(),
            "checkpoints": checkpoints.collect::<Vec<_>>(),
            "pins": pins.map(|pin| (pin.checkpoint.to_string(), pin.reason)).collect::<Vec<_>>(),
        })
    };
    Value::Array(tasks.into_iter().map(task).collect())
}

/// A folder as one file.
fn packed(root: &Path) -> Vec<u8> {
    let mut files = Vec::new();
    collect(root, root, &mut files);
    files.sort();
    let mut out = Vec::new();
    for (name, bytes) in files {
        for part in [name.as_bytes(), &bytes] {
            out.extend((part.len() as u64).to_le_bytes());
            out.extend(part);
        }
    }
    zstd::bulk::compress(&out, 19).unwrap()
}

fn collect(root: &Path, dir: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.push((name, fs::read(&path).unwrap()));
        }
    }
}

fn unpack(packed: &[u8], root: &Path) {
    let bytes = zstd::bulk::decompress(packed, 256 << 20).unwrap();
    let mut rest = bytes.as_slice();
    let mut next = || {
        let (len, after) = rest.split_first_chunk::<8>()?;
        let (part, after) = after.split_at(u64::from_le_bytes(*len) as usize);
        rest = after;
        Some(part)
    };
    while let (Some(name), Some(bytes)) = (next(), next()) {
        let path = root.join(std::str::from_utf8(name).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_store_of_an_earlier_version_is_read_verified_queried_and_worked_on() {
    let dir = tempfile::tempdir().unwrap();
    for (name, key) in stores() {
        let (stored, expected) = (place(&format!("{name}.bin")), place(&format!("{name}.json")));
        if std::env::var_os("MILEPOST_BLESS").is_some_and(|v| v == "1") {
            let made = dir.path().join(format!("{name}-made"));
            make(&made, key);
            fs::write(&stored, packed(&made)).unwrap();
            let engine = Engine::open(&made, options(key)).unwrap();
            let text = serde_json::to_string_pretty(&picture(&engine)).unwrap();
            fs::write(&expected, text + "\n").unwrap();
        }
        let expected: Value = serde_json::from_str(&fs::read_to_string(expected).unwrap()).unwrap();
        let stored = fs::read(stored).unwrap();
        for sled in [true, false] {
            let root = dir.path().join(format!("{name}-{sled}"));
            unpack(&stored, &root);
            if !sled {
                folder::remove_sled(&root).unwrap();
            }
            let engine = Engine::open(&root, options(key)).unwrap();
            assert_eq!(picture(&engine), expected, "{name}, sled {sled}");
            assert_eq!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults, []);
            assert!(engine.integrity().verify_states(None).unwrap().is_empty());
            work_on(&engine);
            assert_eq!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults, []);
            let after = picture(&engine);
            engine.close().unwrap();
            let engine = Engine::open(&root, options(key)).unwrap();
            assert_eq!(picture(&engine), after);
        }
    }
}

fn work_on(engine: &Engine) {
    let essay = engine.task("essay").unwrap();
    let again = Append::batch([text(1), text(2)]).key("sent");
    assert!(essay.append(again.mark(Mark::new())).is_ok());
    let worn = engine.task("worn").unwrap();
    let old = Append::from(text(10)).key("k-0");
    assert!(worn.append(old).unwrap().repeated, "a key from before the base");
    for name in ["essay", "worn", "late"] {
        let task = engine.task(name).unwrap();
        task.append(text(7)).unwrap();
        task.append(bodies::bytes(8, 300_000)).unwrap();
        task.checkpoint(Mark::new().label("now")).unwrap();
        let task = engine.restore(&engine.point(&format!("{name}@now")).unwrap()).run().unwrap();
        task.append(text(8)).unwrap();
    }
    engine.undo("essay").run().unwrap();
    assert!(engine.task("gone").is_err());
    engine.start_task("gone", "eve").unwrap();
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
}
