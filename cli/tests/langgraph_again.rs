//! Importing a database of LangGraph that has changed since: it grew, it was pruned, or
//! the store has newer events. In each case the state at each checkpoint is that of the database.

use proptest::prelude::*;
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::common::databases::{as_json, as_msgpack, empty, put, put_in, put_write, variables};
use crate::common::{Place, number, text};

/// A checkpoint with values.
fn add(connection: &Connection, id: &str, parent: Option<&str>, values: &Value) {
    put(connection, id, parent, "msgpack", &as_msgpack(values));
}

/// The variables at the mark with an alias, on whatever lineage.
fn at(place: &Place, alias: &str) -> Value {
    let listed = place.items("checkpoints lg:t --limit 1000");
    let found = listed.as_array().unwrap().iter();
    let mut found = found.filter(|mark| mark["aliases"][0] == alias);
    let id = text(found.next().unwrap(), "id").to_owned();
    assert!(found.next().is_none(), "one mark for {alias}");
    variables(place, &format!("@{id}"))
}

#[test]
fn what_goes_on_from_an_older_checkpoint_has_the_values_of_that_one() {
    let place = Place::new();
    let connection = empty(&place);
    add(&connection, "1", None, &json!({"a": 1}));
    add(&connection, "2", Some("1"), &json!({"a": 1, "b": 2}));
    put_write(&connection, "2", "task", &json!("w"));
    place.say("import made.sqlite").ok();
    add(&connection, "3", Some("1"), &json!({"a": 3}));
    add(&connection, "4", Some("2"), &json!({"a": 1, "b": 4}));
    place.say("import made.sqlite").ok();
    assert_eq!(at(&place, "3"), json!({"a": 3}));
    assert_eq!(at(&place, "4"), json!({"a": 1, "b": 4}));
    assert_eq!(variables(&place, "lg:t"), json!({"a": 1, "b": 4}));
    let lineages = place.json("lineages lg:t");
    assert_eq!(lineages.as_array().unwrap().len(), 2, "{lineages}");
}

#[test]
fn what_somebody_did_in_the_store_meanwhile_is_not_in_the_values_of_a_checkpoint() {
    let place = Place::new();
    let connection = empty(&place);
    add(&connection, "1", None, &json!({"a": 1}));
    place.say("import made.sqlite").ok();
    let patch = json!([{"op": "add", "path": "/mine", "value": 7},
        {"op": "add", "path": "/a", "value": 0}]);
    let line = json!({"kind": "variables_patched", "form": "patch", "patch": patch});
    place.write("mine.jsonl", line.to_string());
    place.say("record mine.jsonl --task lg:t").ok();
    assert_eq!(variables(&place, "lg:t"), json!({"a": 0, "mine": 7}));
    add(&connection, "2", Some("1"), &json!({"a": 1, "b": 2}));
    place.say("import made.sqlite").ok();
    assert_eq!(at(&place, "2"), json!({"a": 1, "b": 2}));
    // An import never writes to a lineage of the user. This one forks after the events of
    // checkpoint 1.
    place.say("restore lg:t@5").ok();
    let own = number(&place.json("lineages lg:t")[2], "head");
    add(&connection, "3", Some("2"), &json!({"b": 3}));
    add(&connection, "4", Some("1"), &json!({"b": 4}));
    place.say("import made.sqlite").ok();
    assert_eq!(at(&place, "3"), json!({"b": 3}));
    assert_eq!(at(&place, "4"), json!({"b": 4}));
    let lineages = place.json("lineages lg:t");
    assert_eq!(number(&lineages[2], "head"), own);
    assert_eq!(lineages[3]["active"], true, "the task continues at the newest: {lineages}");
}

#[test]
fn the_task_goes_on_where_the_thread_does_however_often_that_goes_back() {
    let place = Place::new();
    let connection = empty(&place);
    add(&connection, "1", None, &json!({"a": 1}));
    add(&connection, "2", Some("1"), &json!({"a": 2}));
    add(&connection, "3", Some("1"), &json!({"a": 3}));
    for (id, parent) in [("4", "2"), ("5", "4"), ("6", "3"), ("7", "5"), ("8", "7")] {
        place.say("import made.sqlite").ok();
        add(&connection, id, Some(parent), &json!({"a": id}));
        place.say("import made.sqlite").ok();
        assert_eq!(variables(&place, "lg:t"), json!({"a": id}));
    }
    let lineages = place.json("lineages lg:t");
    let lineages = lineages.as_array().unwrap();
    assert_eq!(lineages.len(), 2, "one, and its fork");
}

#[test]
fn a_checkpoint_goes_on_from_one_that_the_database_has_no_more() {
    let place = Place::new();
    let connection = empty(&place);
    add(&connection, "1", None, &json!({"a": 1}));
    add(&connection, "2", Some("1"), &json!({"a": 2}));
    place.say("import made.sqlite").ok();
    connection.execute("DELETE FROM checkpoints", []).unwrap();
    add(&connection, "3", Some("2"), &json!({"a": 2, "c": 3}));
    place.say("import made.sqlite").ok();
    assert_eq!(variables(&place, "lg:t"), json!({"a": 2, "c": 3}));
    let lineages = place.json("lineages lg:t");
    assert_eq!(lineages.as_array().unwrap().len(), 1, "{lineages}");
    let kinds = place.lines("log lg:t --kind variables_patched");
    let added = json!([{"op": "add", "path": "/c", "value": 3}]);
    assert_eq!(kinds.last().unwrap()["body"]["patch"], added);
}

#[test]
fn another_thread_does_not_go_into_a_task_that_has_one() {
    for (task, import) in [("t", "import made.sqlite --as t"), ("lg:t", "import made.sqlite")] {
        let place = Place::new();
        let connection = empty(&place);
        add(&connection, "1", None, &json!({"a": 1}));
        put_write(&connection, "unstored", "task", &json!("w"));
        place.say(import).ok();
        let before = place.lines(&format!("log {task}"));
        connection.execute("DELETE FROM checkpoints", []).unwrap();
        add(&connection, "other", Some("unknown"), &json!({"b": 1}));
        // A write of the thread shows that it is the same one, and so does a parent.
        place.say(import).ok();
        assert_eq!(variables(&place, task), json!({"b": 1}));
        let connection = empty_again(&place);
        add(&connection, "third", Some("other"), &json!({"b": 3}));
        place.say(import).ok();
        let after = place.lines(&format!("log {task}"));
        assert!(after.len() > before.len());
        connection.execute("DELETE FROM checkpoints", []).unwrap();
        add(&connection, "fourth", Some("unknown"), &json!({"b": 4}));
        let ran = place.say(import);
        ran.failed(4, "the task exists already, and has nothing of this thread");
        assert_eq!(place.lines(&format!("log {task}")), after);
        place.say("import made.sqlite --as copy").ok();
        assert_eq!(variables(&place, "copy"), json!({"b": 4}));
    }
}

/// The database, without a row.
fn empty_again(place: &Place) -> Connection {
    std::fs::remove_file(place.path("made.sqlite")).unwrap();
    empty(place)
}

#[test]
fn a_thread_that_is_refused_does_not_keep_the_others_out() {
    let place = Place::new();
    let connection = empty(&place);
    let values = as_json(&json!({"a": 1}));
    for thread in ["a", "b", "nul\0", "c-d"] {
        put_in(&connection, thread, ("1", None), "json", &values);
    }
    let inner = "INSERT INTO checkpoints VALUES ('c', 'd', '1', NULL, 'json', ?1, '{}')";
    connection.execute(inner, [&values]).unwrap();
    place.write(
        "b.jsonl",
        json!({"kind": "message", "role": "user", "content": "mine"}).to_string(),
    );
    place.say("record b.jsonl --task x-b").ok();
    let ran = place.say("import made.sqlite --as x --json");
    assert_eq!(ran.code, 4, "{ran:?}");
    for what in ["made.sqlite: x-b: the task exists already", "a control character"] {
        assert!(ran.err.contains(what), "{what}: {}", ran.err);
    }
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    let tasks: Vec<&str> =
        said["tasks"].as_array().unwrap().iter().map(|task| text(task, "id")).collect();
    assert_eq!(tasks, ["x-a", "x-c", "x-c-d"]);
    assert_eq!(place.lines("log x-b").len(), 3, "as it was");
    let marks = place.items("checkpoints x-c");
    assert_eq!(marks[0]["aliases"], json!(["!d/1"]), "a subgraph without its graph");
}

#[test]
fn writes_are_attached_to_their_checkpoints_also_to_those_that_come_later() {
    let place = Place::new();
    let connection = empty(&place);
    add(&connection, "A", None, &json!({}));
    add(&connection, "A:t:0", Some("A"), &json!({"b": 1}));
    put_write(&connection, "A", "t", &json!("of A"));
    put_write(&connection, "A:t", "0", &json!("of none"));
    put_write(&connection, "A:t:0", "u", &json!("of the other"));
    put_write(&connection, "A", "", &json!("without a task"));
    put_write(&connection, "gone", "t", &json!("x"));
    place.say("import made.sqlite").ok();
    assert_eq!(variables(&place, "lg:t"), json!({"b": 1}));
    let attached = place.lines("log lg:t --kind data_attached");
    let attached = attached.iter().map(|event| {
        let data = text(&event["body"]["data"], "base64").as_bytes();
        let data = String::from_utf8(data_encoding::BASE64.decode(data).unwrap()).unwrap();
        (text(event, "correlation"), text(&event["body"], "writer"), data)
    });
    let json = |text: &str| format!("json\0\0\"{text}\"");
    let expected = [
        ("A", "t", json("of A")),
        ("A", "", json("without a task")),
        ("A:t:0", "u", json("of the other")),
        ("A:t", "0", json("of none")),
        ("gone", "t", json("x")),
    ];
    assert_eq!(attached.collect::<Vec<_>>(), expected);
    let again = place.json("import made.sqlite");
    assert_eq!(number(&again["tasks"][0], "events"), 0);
    add(&connection, "gone", Some("A:t:0"), &json!({"b": 2}));
    let later = place.json("import made.sqlite");
    assert_eq!(number(&later["tasks"][0], "checkpoints"), 1);
    assert_eq!(place.json("lineages lg:t").as_array().unwrap().len(), 1);
}

#[test]
fn a_thread_that_has_only_writes_is_kept_and_ids_that_are_no_aliases_are_named() {
    let place = Place::new();
    let connection = empty(&place);
    put_write(&connection, "early", "t", &json!("w"));
    put_write(&connection, "line\nbreak", "t", &json!("w"));
    add(&connection, "two\nlines", None, &json!({"a": 1}));
    add(&connection, "3", Some("two\nlines"), &json!({"a": 3}));
    let ran = place.say("import made.sqlite");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.err.matches("control character").count(), 2, "{}", ran.err);
    assert!(ran.err.contains("a write to `c`: "), "{}", ran.err);
    assert_eq!(variables(&place, "lg:t"), json!({"a": 3}));
    connection.execute("DELETE FROM checkpoints", []).unwrap();
    connection.execute("DELETE FROM writes WHERE checkpoint_id <> 'early'", []).unwrap();
    let said = place.json("import made.sqlite --as writes");
    let task = &said["tasks"][0];
    assert_eq!((number(task, "events"), number(task, "checkpoints")), (1, 0));
}

#[test]
fn metadata_is_kept_as_it_is_and_its_mark_has_what_filters_compare() {
    let place = Place::new();
    let connection = empty(&place);
    let large = json!({"source": "loop", "step": 1, "text": "x".repeat(70_000)});
    let rows = [
        ("1", large.to_string().into_bytes(), json!({"step": 1, "source": "loop"})),
        ("2", b"\x93\x01\x02\x03".to_vec(), Value::Null),
        ("3", b"\xc1".to_vec(), Value::Null),
        ("4", Vec::new(), json!({})),
        ("5", b"{\"step\": 2, \"of\": [1]}".to_vec(), json!({"step": 2, "of": [1]})),
    ];
    for (id, metadata, _) in &rows {
        let sql = "INSERT INTO checkpoints VALUES ('t', '', ?1, NULL, 'json', ?2, ?3)";
        let row = params![id, as_json(&json!({})), metadata];
        connection.execute(sql, row).unwrap();
    }
    place.say("import made.sqlite").ok();
    let listed = place.items("checkpoints lg:t");
    for (id, metadata, filters) in rows {
        let mut marks = listed.as_array().unwrap().iter();
        let mark = marks.find(|mark| mark["aliases"][0] == id).unwrap();
        assert_eq!(mark["metadata"], filters, "{id}");
        let lineage = &mark["lineage"];
        let events = place.lines(&format!("log lg:t/{lineage} --kind application"));
        let bytes = text(&events.last().unwrap()["body"]["data"], "base64").as_bytes();
        let bytes = data_encoding::BASE64.decode(bytes).unwrap();
        let is_there = bytes.windows(metadata.len().max(1)).any(|part| part == metadata);
        assert!(is_there || metadata.is_empty(), "{id}");
    }
}

#[test]
fn a_list_that_grows_by_much_is_said_once_and_not_item_by_item() {
    let place = Place::new();
    let connection = empty(&place);
    add(&connection, "1", None, &json!({"l": [0]}));
    let many: Vec<u32> = (0..20_000).collect();
    add(&connection, "2", Some("1"), &json!({"l": many}));
    place.say("import made.sqlite").ok();
    assert_eq!(variables(&place, "lg:t"), json!({"l": many}));
    let patch = &place.lines("log lg:t --kind variables_patched")[1]["body"]["patch"];
    assert!(patch.to_string().len() < 150_000, "about as long as the list");
    add(&connection, "3", Some("2"), &json!({"l": many.iter().chain(&[7]).collect::<Vec<_>>()}));
    place.say("import made.sqlite").ok();
    let patch = &place.lines("log lg:t --kind variables_patched")[2]["body"]["patch"];
    assert_eq!(*patch, json!([{"op": "add", "path": "/l/-", "value": 7}]));
}

/// A database: of each checkpoint the one before it, and its values.
fn trees() -> impl Strategy<Value = Vec<(Option<usize>, Value)>> {
    let values = prop::collection::btree_map("[abc]", 0..3_i32, 0..3).prop_map(|map| json!(map));
    let one = (any::<Option<prop::sample::Index>>(), values);
    prop::collection::vec(one, 1..9).prop_map(|made| {
        let made = made.into_iter().enumerate();
        made.map(|(at, (parent, values))| {
            // Not always one with a lower id.
            let parent = parent.map(|index| index.index(at + 2)).filter(|parent| *parent != at);
            (parent, values)
        })
        .collect()
    })
}

fn fill(connection: &Connection, tree: &[(Option<usize>, Value)], there: impl Fn(usize) -> bool) {
    connection.execute("DELETE FROM checkpoints", []).unwrap();
    for (at, (parent, values)) in tree.iter().enumerate().filter(|(at, _)| there(*at)) {
        let parent = parent.map(|parent| parent.to_string());
        add(connection, &at.to_string(), parent.as_deref(), values);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn in_parts_and_in_any_order_each_checkpoint_has_its_values(
        tree in trees(),
        parts in prop::collection::vec(prop::bits::u16::ANY, 1..3),
    ) {
        let place = Place::new();
        let connection = empty(&place);
        // The first is there each time: without any it would be another thread.
        for part in parts {
            fill(&connection, &tree, |at| at == 0 || part & (1 << at) != 0);
            place.say("import made.sqlite").ok();
        }
        fill(&connection, &tree, |_| true);
        let said = place.json("import made.sqlite");
        let grew = number(&said["tasks"][0], "events") > 0;
        for (alias, (_, values)) in tree.iter().enumerate() {
            prop_assert_eq!(&at(&place, &alias.to_string()), values, "checkpoint {}", alias);
        }
        let newest = tree.len() - 1;
        if grew && tree.iter().all(|(parent, _)| *parent != Some(newest)) {
            prop_assert_eq!(&variables(&place, "lg:t"), &tree[newest].1);
        }
        prop_assert_eq!(&place.json("verify")["faults"], &json!([]));
    }
}

#[test]
fn a_database_whose_columns_are_computed_or_whose_ids_are_huge_is_refused_in_few_words() {
    let place = Place::new();
    for (column, expression) in [
        ("checkpoint BLOB", "zeroblob(900000000)"),
        ("thread_id TEXT", "hex(zeroblob(200000000))"),
        ("metadata BLOB", "printf('%.*c', 500000000, 'x')"),
    ] {
        let path = place.path("made.sqlite");
        let connection = rusqlite::Connection::open(&path).unwrap();
        let columns = [
            "thread_id TEXT",
            "checkpoint_ns TEXT",
            "checkpoint_id TEXT",
            "parent_checkpoint_id TEXT",
            "type TEXT",
            "checkpoint BLOB",
            "metadata BLOB",
        ];
        let columns = columns.map(|name| match name == column {
            true => format!("{name} AS ({expression})"),
            false => name.to_owned(),
        });
        let sql = format!(
            "CREATE TABLE checkpoints ({});
             CREATE TABLE writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value);
             INSERT INTO checkpoints (checkpoint_id, type) VALUES ('1', 'json')",
            columns.join(", ")
        );
        connection.execute_batch(&sql).unwrap();
        drop(connection);
        place.say("import made.sqlite").failed(3, "columns that are computed");
        std::fs::remove_file(path).unwrap();
    }
    let connection = empty(&place);
    let long = "t".repeat(100_000);
    put_in(&connection, &long, ("1", None), "json", &as_json(&json!({"a": 1})));
    drop(connection);
    let ran = place.say("import made.sqlite");
    assert_eq!(ran.code, 1, "{}", ran.err.len());
    assert!(ran.err.len() < 6000, "{}", ran.err.len());
}
