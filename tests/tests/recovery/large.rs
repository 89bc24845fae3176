//! A large store, most of it in the archive: sled is built anew from it whatever happened.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::events::Message;
use milepost::{Engine, ErrorKind, Mark, Options, Task};
use milepost_tests::seed::{Random, seed};
use milepost_tests::{bodies, folder};
use tempfile::TempDir;

use crate::recovery::cuts::{clean, messages};

/// A store of more than 20 MiB, most of it sealed and archived: its folder, and its end.
fn large() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    fill(&engine, &task, 0..22);
    engine.store().drain().unwrap();
    let archived = folder::files(&root.join("archive"), ".mpa").unwrap();
    assert!(archived.len() > 2, "{archived:?}");
    fill(&engine, &task, 22..24);
    let copy = dir.path().join("killed");
    engine.store().drain().unwrap();
    folder::copy_store(&root, &copy).unwrap();
    engine.close().unwrap();
    (dir, copy)
}

/// A MiB each: messages in order between bytes that do not compress, and a large body.
fn fill(engine: &Engine, task: &Task, mib: std::ops::Range<u64>) {
    for n in mib {
        let mut batch = vec![Message::text("user", &format!("message {n}")).into()];
        batch.extend((0..16).map(|i| bodies::bytes(n * 16 + i, 64 << 10)));
        if n % 6 == 0 {
            batch.push(bodies::bytes(n + 1_000_000, 400 << 10));
        }
        task.append(batch).unwrap();
        task.checkpoint(Mark::new().label(format!("m{n}"))).unwrap();
        if n == 10 {
            let point = engine.point("t@m5").unwrap();
            engine.branch(&point).description("aside").run().unwrap();
        }
    }
}

struct Whole {
    events: Vec<milepost::Event>,
    head: milepost::ids::Head,
    checkpoints: Vec<milepost::CheckpointId>,
}

fn whole(engine: &Engine) -> Whole {
    let task = engine.task("t").unwrap();
    assert_eq!(messages(engine), 24);
    let query = milepost::query::CheckpointQuery { limit: Some(1000), ..Default::default() };
    Whole {
        events: task.read(..).unwrap().map(|e| e.unwrap()).collect(),
        head: task.head().unwrap(),
        checkpoints: engine
            .query()
            .checkpoints(&query)
            .unwrap()
            .items
            .iter()
            .map(|c| c.id)
            .collect(),
    }
}

fn read_all(engine: &Engine) -> milepost::Result<()> {
    for event in engine.task("t")?.read(..)? {
        event?;
    }
    let query = milepost::query::CheckpointQuery { limit: Some(1000), ..Default::default() };
    engine.query().checkpoints(&query)?;
    Ok(())
}

fn same(engine: &Engine, before: &Whole, how: &str) {
    let now = whole(engine);
    assert_eq!(now.head, before.head, "{how}");
    assert!(now.events == before.events, "{how}");
    assert_eq!(now.checkpoints, before.checkpoints, "{how}");
    clean(engine);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn sled_is_rebuilt_from_journal_and_archive_whatever_happened_to_it() {
    let (dir, killed) = large();
    let before = {
        let root = dir.path().join("untouched");
        folder::copy(&killed, &root).unwrap();
        let engine = Engine::open(&root, Options::default()).unwrap();
        clean(&engine);
        let before = whole(&engine);
        drop(engine);
        fs::remove_dir_all(root).unwrap();
        before
    };
    let mut random = Random::new(seed());
    type Damage<'a> = Box<dyn FnMut(&Path) -> String + 'a>;
    let mut damages: Vec<Damage> = vec![
        Box::new(|sled| {
            fs::remove_dir_all(sled).unwrap();
            "removed".into()
        }),
        Box::new(|sled| {
            fs::remove_dir_all(sled).unwrap();
            fs::create_dir(sled).unwrap();
            "emptied".into()
        }),
        Box::new(|sled| {
            let db = sled.join("db");
            let len = fs::metadata(&db).unwrap().len();
            fs::File::options().write(true).open(&db).unwrap().set_len(len / 2).unwrap();
            "cut in half".into()
        }),
    ];
    for _ in 0..4 {
        let pick = random.number();
        damages.push(Box::new(move |sled| {
            let db = sled.join("db");
            let len = fs::metadata(&db).unwrap().len();
            folder::flip(&db, pick % len).unwrap();
            format!("db, bit flipped at byte {} of {len}", pick % len)
        }));
    }
    for name in ["conf", "snap"] {
        damages.push(Box::new(move |sled| {
            for entry in fs::read_dir(sled).unwrap() {
                let path = entry.unwrap().path();
                if path.file_name().unwrap().to_str().unwrap().starts_with(name) {
                    folder::flip(&path, 9).unwrap();
                }
            }
            format!("{name}, bit flipped")
        }));
    }
    for mut damage in damages {
        let root = dir.path().join("damaged");
        folder::copy(&killed, &root).unwrap();
        let how = damage(&root.join("sled"));
        println!("sled {how}");
        let open = || {
            Engine::open(&root, Options::default())
                .unwrap_or_else(|error| panic!("sled {how}: {error}"))
        };
        let mut engine = open();
        // Damage that sled itself does not see shows when it is read; then a reopen repairs it.
        if let Err(error) = read_all(&engine) {
            println!("met when it was read: {error}");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "I4");
            assert!(error.to_string().contains("open the store again"), "{error}");
            engine.close().unwrap();
            engine = open();
        }
        same(&engine, &before, &how);
        drop(engine);
        fs::remove_dir_all(root).unwrap();
    }
}
