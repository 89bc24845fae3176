//! Importing checkpoint databases of LangGraph.
//!
//! `fixtures/langgraph/make.py` makes the database (langgraph 1.2.22, langgraph-checkpoint-sqlite
//! 3.1.2), and what LangGraph itself reads from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use milepost_langgraph::alias;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::databases::{as_json, as_msgpack, empty, put, variables};
use crate::common::{Place, Ran, fixture, number, text};

/// A place with a copy of the database.
fn place() -> (Place, PathBuf) {
    let place = Place::new();
    let path = place.path("checkpoints.sqlite");
    fs::copy(fixture("langgraph/checkpoints.sqlite"), &path).unwrap();
    (place, path)
}

/// The values at each checkpoint as LangGraph reads them, by task and alias.
fn expected() -> BTreeMap<String, BTreeMap<String, Value>> {
    let text = fs::read(fixture("langgraph/expected.json")).unwrap();
    let read: BTreeMap<String, BTreeMap<String, Value>> = serde_json::from_slice(&text).unwrap();
    let mut tasks: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    for (name, checkpoints) in read {
        let (thread, namespace) = name.split_once('-').unwrap_or((&name, ""));
        let named = checkpoints.into_iter().map(|(id, values)| (alias(namespace, &id), values));
        tasks.entry(format!("lg:{thread}")).or_default().extend(named);
    }
    tasks
}

#[test]
fn the_state_at_each_checkpoint_is_what_langgraph_reads() {
    let (place, _) = place();
    let said = place.json("import checkpoints.sqlite --user ana");
    let expected = expected();
    let tasks = said["tasks"].as_array().unwrap();
    let ids: Vec<&str> = tasks.iter().map(|task| text(task, "id")).collect();
    assert_eq!(ids, ["lg:chat", "lg:count"]);
    assert_eq!(place.ids("tasks --user ana").len(), 2);
    for task in tasks {
        let id = text(task, "id");
        assert_eq!(task["format"], "langgraph");
        let checkpoints = &expected[id];
        assert_eq!(number(task, "checkpoints"), checkpoints.len() as u64);
        let listed = place.items(&format!("checkpoints {id} --limit 100"));
        let listed = listed.as_array().unwrap();
        assert_eq!(listed.len(), checkpoints.len());
        for mark in listed {
            let alias = mark["aliases"][0].as_str().unwrap();
            let found = variables(&place, &format!("@{}", text(mark, "id")));
            assert_eq!(found, checkpoints[alias], "{id}@{alias}");
            assert_eq!(mark["cause"], "imported");
            assert!(mark["metadata"]["step"].is_number(), "{mark}");
        }
        // Aliases of the root namespace are the greatest.
        let newest = checkpoints.keys().max().unwrap();
        assert_eq!(variables(&place, id), checkpoints[newest], "{id}");
        assert_eq!(variables(&place, &format!("{id}@{newest}")), checkpoints[newest], "{id}");
    }
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn a_state_updated_at_an_earlier_checkpoint_is_a_lineage_that_the_task_goes_on_with() {
    let (place, path) = place();
    place.say("import checkpoints.sqlite").ok();
    let lineages = place.json("lineages lg:chat");
    assert_eq!(lineages.as_array().unwrap().len(), 2);
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints \
               WHERE thread_id = 'chat' AND metadata LIKE '%\"update\"%'";
    let (update, parent): (String, String) =
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(lineages[1]["active"], true, "{lineages}");
    let marks = place.items("checkpoints lg:chat --limit 100");
    let marked = |alias: &str| {
        let mut marks = marks.as_array().unwrap().iter();
        marks.find(|mark| mark["aliases"][0] == alias).unwrap().clone()
    };
    assert_eq!((&marked(&parent)["lineage"], &marked(&update)["lineage"]), (&json!(0), &json!(1)));
    assert_eq!(marked(&update)["parent"], marked(&parent)["id"]);
    let events = place.lines("log lg:chat --kind message");
    assert_eq!(events.len(), 0, "messages are values of a channel");
    let writes = place.lines("log lg:chat/0 --kind data_attached");
    let interrupted = |event: &&Value| event["body"]["name"] == "__interrupt__";
    assert_eq!(writes.iter().filter(interrupted).count(), 1);
    let stored: usize = connection
        .query_row("SELECT count(*) FROM writes WHERE thread_id = 'chat'", [], |row| row.get(0))
        .unwrap();
    let own = |lineage: usize| {
        let events = place.lines(&format!("log lg:chat/{lineage} --kind data_attached"));
        events.into_iter().filter(|event| event["lineage"] == lineage).count()
    };
    assert_eq!(own(0) + own(1), stored);
}

#[test]
fn imported_again_nothing_is_new_and_what_came_since_is_added() {
    let (whole, path) = place();
    whole.say("import checkpoints.sqlite").ok();
    let again = whole.json("import checkpoints.sqlite");
    for task in again["tasks"].as_array().unwrap() {
        assert_eq!((number(task, "events"), number(task, "checkpoints")), (0, 0));
    }
    // The same, with the last checkpoints and their writes a second time.
    let (grown, shorter) = place();
    let connection = Connection::open(&shorter).unwrap();
    let newest = "SELECT checkpoint_id FROM checkpoints ORDER BY checkpoint_id DESC LIMIT 9";
    for table in ["writes", "checkpoints"] {
        let sql = format!("DELETE FROM {table} WHERE checkpoint_id IN ({newest})");
        connection.execute(&sql, []).unwrap();
    }
    drop(connection);
    grown.say("import checkpoints.sqlite").ok();
    fs::copy(&path, &shorter).unwrap();
    grown.say("import checkpoints.sqlite").ok();
    for id in ["lg:chat", "lg:chat/0", "lg:count", "lg:count/1"] {
        assert_eq!(variables(&grown, id), variables(&whole, id));
        let logs = [&whole, &grown].map(|place| {
            let events = place.lines(&format!("log {id}")).into_iter();
            let plain = events.map(|mut event| {
                // Ids of checkpoints are random.
                event["body"]["parent"] = Value::Null;
                json!([event["kind"], event["actor"], event["body"]])
            });
            plain.collect::<Vec<_>>()
        });
        assert_eq!(logs[0], logs[1], "{id}");
    }
}

#[test]
fn json_rows_of_older_versions_and_every_other_type_are_read() {
    let place = Place::new();
    let connection = empty(&place);
    let message = json!({"lc": 2, "type": "constructor", "id": ["langchain_core", "HumanMessage"],
        "kwargs": {"content": "hi, and more than what says that something was added"}});
    put(&connection, "1", None, "json", &as_json(&json!({"m": [message], "k": 1})));
    let grown = json!({"m": [message, 2], "n": null, "k": 1});
    put(&connection, "2", Some("1"), "json", &as_json(&grown));
    put(&connection, "3", Some("1"), "json", &as_json(&json!({})));
    let write = "INSERT INTO writes VALUES ('t', '', '3', 'task', 0, 'c', ?1, x'00ff')";
    connection.execute(write, ["bytes"]).unwrap();
    place.say("import made.sqlite --as old").ok();
    let list = json!([{"content": "hi, and more than what says that something was added"}, 2]);
    assert_eq!(variables(&place, "old/0"), json!({"m": list, "n": null, "k": 1}));
    assert_eq!(variables(&place, "old"), json!({}));
    let patches = place.lines("log old/0 --kind variables_patched");
    let added = json!([{"op": "add", "path": "/m", "value": list},
        {"op": "add", "path": "/n", "value": null}]);
    assert_eq!(patches[1]["body"]["patch"], added, "only what is new");
    assert_eq!(patches[1]["time"], "2024-05-26T07:27:40.000000Z");
    let written = place.lines("log old --kind data_attached");
    let bytes = data_encoding::BASE64.encode(b"bytes\0\0\x00\xff");
    assert_eq!(written[0]["body"]["data"]["base64"], bytes.as_str(), "{}", written[0]);
    assert_eq!((text(&written[0], "correlation"), &written[0]["body"]["name"]), ("3", &json!("c")));
}

#[test]
fn of_a_list_in_messagepack_that_grew_only_the_new_items_are_stored() {
    let place = Place::new();
    let connection = empty(&place);
    let long = "x".repeat(4000);
    put(&connection, "1", None, "msgpack", &as_msgpack(&json!({"m": [long]})));
    let grown = json!({"m": [long, 2], "n": null});
    put(&connection, "2", Some("1"), "msgpack", &as_msgpack(&grown));
    place.say("import made.sqlite").ok();
    assert_eq!(variables(&place, "lg:t"), grown);
    let patches = place.lines("log lg:t --kind variables_patched");
    let added = json!([{"op": "add", "path": "/m/-", "value": 2},
        {"op": "add", "path": "/n", "value": null}]);
    assert_eq!(patches[1]["body"]["patch"], added);
    let events = place.lines("log lg:t --kind application");
    assert!(events[1].to_string().len() < 2000, "{}", events[1]);
}

#[test]
fn checkpoints_that_cannot_be_read_are_named_and_what_follows_goes_on_before_them() {
    let place = Place::new();
    let connection = empty(&place);
    put(&connection, "1", Some("gone"), "json", &as_json(&json!({"a": 1})));
    put(&connection, "2", Some("1"), "pickle", b"whatever");
    put(&connection, "3", Some("2"), "json", &as_json(&json!({"a": 3})));
    put(&connection, "4", Some("3"), "msgpack", &[0xdf, 0xff, 0xff, 0xff, 0xff, 1]);
    put(&connection, "5", Some("4"), "msgpack", &[0x91; 4000]);
    let nested = |levels: usize| {
        let deep = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        json!({"a": serde_json::from_str::<Value>(&deep).unwrap()})
    };
    put(&connection, "6", Some("5"), "json", &as_json(&nested(100)));
    put(&connection, "7", Some("8"), "json", &as_json(&json!({"a": 7})));
    put(&connection, "8", Some("7"), "json", &as_json(&json!({"a": 8})));
    put(&connection, "9", Some("9"), "", b"");
    let ran = place.say("import made.sqlite");
    assert_eq!(ran.code, 1, "{ran:?}");
    for why in [
        "checkpoint 2: it is written as `pickle`",
        "checkpoint 4: it is no whole map",
        "checkpoint 5: it is no whole map",
        "checkpoint 6: ",
        "checkpoint 9: ",
        "5 checkpoints could not be recorded",
    ] {
        assert!(ran.err.contains(why), "{why}: {}", ran.err);
    }
    assert_eq!(variables(&place, "lg:t/0"), json!({"a": 3}));
    let listed = place.items("checkpoints lg:t --limit 100");
    assert_eq!(listed.as_array().unwrap().len(), 4);
    assert_eq!(place.json("verify")["faults"], json!([]));
    assert_eq!(place.say("import made.sqlite --strict").code, 1);
    // A value that cannot be shown is kept, and described.
    put(&connection, "a1", Some("3"), "json", &as_json(&nested(99)));
    put(&connection, "a2", Some("a1"), "msgpack", &as_msgpack(&nested(120)));
    let ran = place.say("import made.sqlite");
    assert!(ran.err.contains("5 checkpoints could not be recorded"), "{ran:?}");
    for (checkpoint, encoding, place_of) in [("a1", "json", "/a"), ("a2", "msgpack", "/a/0")] {
        let all = variables(&place, &format!("lg:t@{checkpoint}"));
        let described = all.pointer(place_of).unwrap();
        assert_eq!(described["encoding"], encoding, "{described}");
        assert!(text(described, "why").contains("nested deeper"), "{described}");
    }
}

#[test]
fn what_is_no_such_database_is_refused_and_leaves_no_task() {
    let (place, path) = place();
    let whole = fs::read(&path).unwrap();
    let refused = |what: &str| {
        let ran = place.say("import checkpoints.sqlite --format langgraph");
        assert!(matches!(ran.code, 1 | 3), "{what}: {ran:?}");
        assert!(ran.err.contains("error: ") && ran.err.contains("hint: "), "{what}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "{what}: {ran:?}");
    };
    fs::write(&path, "not a database at all").unwrap();
    refused("text");
    fs::write(&path, [b"SQLite format 3\0".as_slice(), &[7; 4000]].concat()).unwrap();
    refused("a beginning, and garbage");
    fs::write(&path, &whole[..4096]).unwrap();
    refused("one page of it");
    drop(fs::remove_file(&path));
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE checkpoints (x)").unwrap();
    refused("one table");
    let view = "CREATE TABLE writes (x); DROP TABLE checkpoints; CREATE VIEW checkpoints AS
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS rowid, 't' AS thread_id,
        '' AS checkpoint_ns, x AS checkpoint_id, NULL AS parent_checkpoint_id FROM n";
    connection.execute_batch(view).unwrap();
    refused("a view that never ends");
    connection
        .execute_batch("DROP VIEW checkpoints; CREATE TABLE checkpoints (thread_id, checkpoint_id)")
        .unwrap();
    refused("other columns");
    assert_eq!(place.items("tasks"), json!([]));
    // Cut anywhere it is refused, or what is whole of it goes in.
    for cut in (1..whole.len()).step_by(whole.len() / 9) {
        let cut_place = Place::new();
        cut_place.write("cut.sqlite", &whole[..cut]);
        let ran = cut_place.say("import cut.sqlite --format langgraph");
        assert!(matches!(ran.code, 0 | 1 | 3), "cut at {cut}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "cut at {cut}: {ran:?}");
    }
}

#[test]
fn a_database_is_not_read_from_a_pipe_and_not_written_to() {
    let (place, path) = place();
    let before = fs::read(&path).unwrap();
    place.say("record checkpoints.sqlite").ok();
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(!place.path("checkpoints.sqlite-wal").exists());
    let mut command = place.command(["record", "-"]);
    command.stdin(fs::File::open(&path).unwrap());
    let ran = Ran::of(command.output().unwrap());
    ran.failed(1, "a database is read from a file");
}
