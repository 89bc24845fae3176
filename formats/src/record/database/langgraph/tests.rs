//! An imported thread, and the events of the crate that the saver uses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost::events::{Attachment, Data, MarkCause, Message};
use milepost::query::CheckpointQuery;
use milepost::{Append, Body, Checkpoint as Marked, Engine, Hook, Mark, Options, Task};
use milepost_langgraph::{
    Checkpoint, Given, Step, Thread, ThreadReducer, Typed, alias, joined, joined_map,
};
use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::input::RunInput;
use crate::record::{RecordOptions, RecordReport, record};

const TABLES: &str = "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT,
        checkpoint_id TEXT, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB);
    CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT,
        idx INTEGER, channel TEXT, type TEXT, value BLOB, task_path TEXT);";

const METADATA: &str = r#"{"source": "loop", "step": 1}"#;

/// A store, and a database that is imported into it.
struct Scene {
    engine: Engine,
    dir: TempDir,
    connection: Connection,
}

/// MessagePack of a short text.
fn text(text: &str) -> Vec<u8> {
    [&[0xa0 | u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let keys: Vec<Vec<u8>> = entries.iter().map(|(name, _)| text(name)).collect();
    let entries = keys.iter().zip(entries).map(|(key, (_, value))| (&key[..], &value[..]));
    joined_map(&entries.collect::<Vec<_>>())
}

fn list(items: &[&str]) -> Vec<u8> {
    joined(&items.iter().map(|item| text(item)).collect::<Vec<_>>())
}

/// A channel, its version and the bytes of its value.
type Value = (&'static str, &'static str, Vec<u8>);

impl Scene {
    fn new() -> Self {
        Self::open(Options::default())
    }

    fn open(options: Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open(dir.path().join("threads.sqlite")).unwrap();
        connection.execute_batch(TABLES).unwrap();
        let engine = Engine::in_memory(options.reducer(ThreadReducer)).unwrap();
        Self { engine, dir, connection }
    }

    /// Stores a checkpoint of the thread `t`, and returns the saver's answer about it.
    fn put(
        &self,
        (namespace, id, parent): (&str, &str, Option<&str>),
        values: &[Value],
    ) -> (Checkpoint, Vec<Given>) {
        let entries = |value: fn(&Value) -> Vec<u8>| {
            map(&values.iter().map(|one| (one.0, value(one))).collect::<Vec<_>>())
        };
        let versions = ("channel_versions", entries(|(_, version, _)| text(version)));
        let (time, own) = (("ts", text("1970-01-01T00:00:01Z")), ("id", text(id)));
        let held = ("channel_values", entries(|(.., value)| value.clone()));
        let whole = map(&[time.clone(), own.clone(), held, versions.clone()]);
        let sql = "INSERT INTO checkpoints VALUES ('t', ?1, ?2, ?3, 'msgpack', ?4, ?5)";
        let row = params![namespace, id, parent, whole, METADATA.as_bytes()];
        self.connection.execute(sql, row).unwrap();
        let checkpoint = Checkpoint {
            id: id.into(),
            parent: parent.map(Into::into),
            content: Typed::new("msgpack", &map(&[time, own, versions])),
            metadata: Typed::new("json", METADATA.as_bytes()),
            step: Some(Step { number: 1, source: Some("loop".into()) }),
        };
        let given = values.iter().map(|(name, version, value)| Given {
            name: (*name).into(),
            version: format!("\"{version}\""),
            value: Some(match &value[..] {
                [0xc0] => Typed::new("null", &[]).into(),
                [0xc4, _, raw @ ..] => Typed::new("bytes", raw).into(),
                packed => Typed::new("msgpack", packed).into(),
            }),
        });
        (checkpoint, given.collect())
    }

    fn put_write(&self, id: &str, (task, index): (&str, i64), value: &str) {
        let sql = "INSERT INTO writes VALUES ('t', '', ?1, ?2, ?3, 'c', 'msgpack', ?4, '~p')";
        self.connection.execute(sql, params![id, task, index, text(value)]).unwrap();
    }

    fn import(&self) -> RecordReport {
        let options = RecordOptions {
            user: "ana".into(),
            task: None,
            stem: None,
            format: None,
            strict: false,
            acknowledge: false,
            allow_unknown: false,
            event_max: usize::MAX,
        };
        let input = RunInput::open(&self.dir.path().join("threads.sqlite")).unwrap();
        record(&self.engine, input, &options, &mut ()).unwrap()
    }

    fn marks(&self) -> BTreeMap<String, Marked> {
        let query = CheckpointQuery {
            task: Some("lg:t".into()),
            limit: Some(100),
            ..CheckpointQuery::default()
        };
        let marks = self.engine.query().checkpoints(&query).unwrap().items.into_iter();
        marks.map(|mark| (mark.aliases[0].clone(), mark)).collect()
    }

    /// Returns the events of a checkpoint: those before its mark that were appended with it.
    fn events(&self, mark: &Marked, count: usize) -> Vec<Body> {
        let lineage = self.engine.task("lg:t").unwrap().lineage_named(mark.lineage).unwrap();
        let events = lineage.read(mark.mark - count as u64..mark.mark).unwrap();
        events.map(|event| event.unwrap().body.unwrap()).collect()
    }
}

#[test]
fn an_imported_thread_has_the_events_and_lineages_of_the_saver() {
    let scene = Scene::new();
    let first = vec![("m", "1.0", list(&["a"])), ("n", "1.1", vec![0xc0])];
    let grown = vec![("m", "2.0", list(&["a", "b"])), ("raw", "2.1", vec![0xc4, 2, 0, 255])];
    let forked = vec![("m", "2.2", list(&["a", "c"]))];
    let inner = vec![("x", "1.0", vec![7])];
    let root = scene.put(("", "1", None), &first);
    let second = scene.put(("", "2", Some("1")), &grown);
    let other = scene.put(("", "3", Some("1")), &forked);
    let below = scene.put(("inner:7", "2a", None), &inner);
    let lost = scene.put(("inner:7", "2c", Some("2b")), &inner);
    let report = scene.import();
    assert_eq!((report.tasks[0].checkpoints, report.tasks[0].lineages), (5, 4));
    let marks = scene.marks();
    let mut state = Thread::default();
    let at_root = root.0.first_events(&root.1).unwrap();
    at_root.iter().for_each(|body| state.apply(body));
    for (name, expected) in [
        (alias("", "1"), at_root),
        (alias("", "2"), second.0.events(&state, &second.1).unwrap()),
        (alias("", "3"), other.0.events(&state, &other.1).unwrap()),
        (alias("inner:7", "2a"), below.0.first_events(&below.1).unwrap()),
        (alias("inner:7", "2c"), lost.0.first_events(&lost.1).unwrap()),
    ] {
        let mark = &marks[&name];
        assert_eq!(scene.events(mark, expected.len()), expected, "{name}");
        assert_eq!((mark.cause, mark.time_us), (MarkCause::Imported, 1_000_000));
        assert_eq!(mark.metadata.as_ref().unwrap().text(), METADATA);
    }
    assert_eq!(marks["1"].lineage, marks["2"].lineage, "appended behind its parent");
    let parent = |alias: &str| marks[alias].parent;
    assert_eq!((parent("2"), parent("3")), (Some(marks["1"].id), Some(marks["1"].id)));
    let task = scene.engine.task("lg:t").unwrap();
    assert_eq!(task.lineage().id(), marks["3"].lineage, "the newest of the root namespace");
    assert!(scene.engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults.is_empty());
}

#[test]
fn writes_are_attached_once_and_do_not_replace_those_of_the_saver() {
    let scene = Scene::new();
    let values = vec![("m", "1.0", list(&["a"]))];
    scene.put(("", "1", None), &values);
    scene.put_write("1", ("task", 0), "first");
    scene.put_write("1", ("", -4), "resume");
    scene.put_write("unstored", ("task", 0), "early");
    let write = |task: &str, index: i64, value: &str| {
        let bytes = [&b"msgpack\0~p\0"[..], &text(value)].concat();
        Attachment::new(task, index, Data::Bytes(bytes)).name("c")
    };
    assert_eq!(scene.import().tasks[0].events, 7);
    let task = || scene.engine.task("lg:t").unwrap();
    let own = [write("task", 0, "first"), write("", -4, "resume")];
    assert_eq!(task().attached("1").unwrap(), own);
    assert_eq!(task().attached("unstored").unwrap(), [write("task", 0, "early")]);
    // The saver continued the thread.
    task().attach("1", [write("", -4, "again")]).unwrap();
    scene.put_write("1", ("task", 1), "second");
    assert_eq!(scene.import().tasks[0].events, 1);
    let all = [write("task", 0, "first"), write("", -4, "again"), write("task", 1, "second")];
    assert_eq!(task().attached("1").unwrap(), all);
    // The checkpoint that has writes only comes later.
    scene.put(("", "unstored", Some("1")), &values);
    assert_eq!(scene.import().tasks[0].checkpoints, 1);
    assert_eq!(scene.import().tasks[0].events, 0);
    assert_eq!(task().lineages().unwrap().len(), 1);
}

#[test]
fn the_task_continues_at_the_newest_checkpoint_also_after_an_interrupted_import() {
    let scene = Scene::new();
    for (id, parent) in [("1", None), ("2", Some("1")), ("3", Some("1"))] {
        scene.put(("", id, parent), &[("m", id, list(&[id]))]);
    }
    scene.import();
    let active = || scene.engine.task("lg:t").unwrap().lineage().id();
    let newest = scene.marks()["3"].lineage;
    assert_eq!(active(), newest);
    // As if the import had ended behind its last append.
    let first = scene.engine.task("lg:t").unwrap().lineage_named(scene.marks()["2"].lineage);
    scene.engine.switch(&first.unwrap()).run().unwrap();
    assert_eq!(scene.import().tasks[0].events, 0);
    assert_eq!(active(), newest);
    // A user's restore stays in effect until something is added.
    let restored = scene.engine.restore(&scene.engine.point("lg:t@1").unwrap()).run().unwrap();
    assert_eq!(scene.import().tasks[0].events, 0);
    assert_eq!(active(), restored.lineage().id());
    scene.put(("", "4", Some("3")), &[("m", "4", list(&["4"]))]);
    scene.import();
    assert_eq!(active(), newest);
}

#[test]
fn a_thread_that_the_saver_continued_keeps_its_checkpoints_and_its_lineage() {
    let scene = Scene::new();
    scene.put(("", "1", None), &[("m", "1", list(&["a"]))]);
    scene.import();
    // The saver continues checkpoint 1, and then SqliteSaver does.
    let task = scene.engine.task("lg:t").unwrap();
    let before =
        scene.engine.state(&ThreadReducer, &scene.engine.point("lg:t@1").unwrap()).unwrap();
    let other = Scene::new();
    let (checkpoint, given) = other.put(("", "3", Some("1")), &[("m", "s", list(&["a", "s"]))]);
    let append = Append::batch(checkpoint.events(&before, &given).unwrap());
    task.append(append.mark(Mark::new().alias("3"))).unwrap();
    scene.put(("", "2", Some("1")), &[("m", "2", list(&["a", "b"]))]);
    scene.put(("", "4", Some("3")), &[("m", "4", list(&["a", "s", "c"]))]);
    assert_eq!(scene.import().tasks[0].checkpoints, 2);
    let marks = scene.marks();
    assert_eq!(marks["3"].lineage, marks["4"].lineage, "its parent is not in the database");
    assert_ne!(marks["2"].lineage, marks["1"].lineage);
    assert_eq!(scene.engine.task("lg:t").unwrap().lineage().id(), marks["4"].lineage);
    for (alias, items) in [("2", vec!["a", "b"]), ("3", vec!["a", "s"]), ("4", vec!["a", "s", "c"])]
    {
        let point = scene.engine.point(&format!("@{}", marks[alias].id)).unwrap();
        let thread = scene.engine.state(&ThreadReducer, &point).unwrap();
        assert_eq!(thread.value("m"), Some(Ok(Typed::new("msgpack", &list(&items)))), "{alias}");
    }
}

/// Another writer that appends to the task before every other attempt to mark a checkpoint.
#[derive(Default)]
struct BusyWriter(AtomicU64);

impl Hook for BusyWriter {
    fn name(&self) -> &str {
        "busy"
    }

    fn before_checkpoint(&self, task: &Task, _: &Mark) -> Result<(), String> {
        if self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            task.append(Message::text("user", "hi")).unwrap();
        }
        Ok(())
    }
}

#[test]
fn a_thread_is_whole_also_if_others_append_to_its_task() {
    let busy = Arc::new(BusyWriter::default());
    let scene = Scene::open(Options::default().hook(busy.clone()));
    for (id, parent) in [("1", None), ("2", Some("1")), ("3", Some("2")), ("4", Some("2"))] {
        scene.put(("", id, parent), &[("m", "v", list(&[id]))]);
    }
    let report = scene.import();
    assert_eq!((report.tasks[0].checkpoints, report.bad_checkpoints), (4, 0));
    let marks = scene.marks();
    for (alias, mark) in &marks {
        let point = scene.engine.point(&format!("@{}", mark.id)).unwrap();
        let thread = scene.engine.state(&ThreadReducer, &point).unwrap();
        let expected = Typed::new("msgpack", &list(&[alias]));
        assert_eq!(thread.value("m"), Some(Ok(expected)), "{alias}");
    }
    assert_eq!(marks["1"].lineage, marks["3"].lineage);
    assert_eq!(scene.engine.task("lg:t").unwrap().lineages().unwrap().len(), 2);
    // Three are tried twice, and the branch, which expects no head, once.
    assert_eq!(busy.0.load(Ordering::Relaxed), 7);
}
