//! Rows that cannot be converted, and databases that are damaged or hostile.

use std::fs;

use rusqlite::Connection;
use serde_json::json;

use crate::common::{Place, number};
use crate::seed_databases::run;
use crate::seed_databases::tables::{MIGRATION, Row, database, put};

#[test]
fn seed_001_rows_that_cannot_be_converted_are_named_and_the_others_are_imported() {
    let place = Place::new();
    let connection = database(&place);
    let deep = format!("{}1{}", "[".repeat(97), "]".repeat(97));
    let long = "x".repeat(201);
    let good = Row { id: "good", prompt: "kept", ..Row::default() };
    put(&connection, &good);
    let mut at = good.created_at;
    let mut bad = |row: Row<'_>| {
        at += 1000;
        put(&connection, &Row { created_at: at, ..row });
    };
    bad(Row { id: "state", state: "layer_1", ..Row::default() });
    bad(Row { id: "rules", rules: "{", ..Row::default() });
    bad(Row { id: "deep", rules: &deep, ..Row::default() });
    bad(Row { id: "iteration", iteration: -1, ..Row::default() });
    bad(Row { id: &long, ..Row::default() });
    put(&connection, &Row { id: "time", created_at: -5, ..Row::default() });
    put(&connection, &Row { id: "far", created_at: i64::MAX, ..Row::default() });
    let large = "UPDATE checkpoints SET artifacts = '[]', user_guidance = zeroblob(67000000)
        WHERE id = 'iteration'";
    connection.execute(large, []).unwrap();
    bad(Row { id: "last", prompt: "last", ..Row::default() });
    let ran = place.say("import checkpoints.sqlite");
    assert_eq!(ran.code, 1, "{ran:?}");
    for why in [
        "checkpoint state: `state`: ",
        "checkpoint rules: `rule_system`: ",
        "checkpoint deep: `rule_system`: JSON nested deeper than 96 levels",
        "checkpoint iteration: ",
        "an id has 1 to 200 bytes",
        "checkpoint time: `created_at`",
        "checkpoint far: `created_at`",
        "7 checkpoints could not be recorded",
    ] {
        assert!(ran.err.contains(why), "{why}: {}", ran.err);
    }
    assert_eq!(place.json("state task-1")["prompt"], "last");
    let lineages = place.json("lineages task-1");
    assert_eq!(lineages.as_array().unwrap().len(), 1);
    assert_eq!(place.items("checkpoints task-1").as_array().unwrap().len(), 2);
    let connection = place.say("import checkpoints.sqlite --strict");
    assert_eq!(connection.code, 1);
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn seed_001_values_of_any_type_are_no_panic() {
    let place = Place::new();
    let connection = Connection::open(place.path("checkpoints.sqlite")).unwrap();
    let untyped = "CREATE TABLE checkpoints (id, task_id, iteration, state, run_control_state,
        prompt, rule_system, artifacts, user_guidance, branch_id, parent_id, lineage_type,
        branch_description, checksum, created_at)";
    connection.execute_batch(untyped).unwrap();
    let row =
        "INSERT INTO checkpoints VALUES (?1, 't', 1, '\"s\"', 'running', 'p', '{}', NULL, NULL,
        'b', NULL, 'automatic', NULL, 'c', 1000)";
    for id in ["first", "first"] {
        connection.execute(row, [id]).unwrap();
    }
    for (at, column) in ["iteration", "state", "prompt", "branch_id", "checksum", "created_at"]
        .into_iter()
        .enumerate()
    {
        for (n, value) in ["NULL", "1.5e308", "x'fffe'", "-7", "'\u{1}'"].into_iter().enumerate() {
            let id = format!("{at}-{n}");
            connection.execute(row, [&id]).unwrap();
            let sql = format!("UPDATE checkpoints SET {column} = {value} WHERE id = '{id}'");
            connection.execute(&sql, []).unwrap();
        }
    }
    let nameless = "INSERT INTO checkpoints (task_id) VALUES (NULL), (x'ff'), ('')";
    connection.execute(nameless, []).unwrap();
    let ran = place.say("import checkpoints.sqlite");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("checkpoint first: an earlier row has the same id"), "{ran:?}");
    assert!(!ran.err.contains("panicked"), "{ran:?}");
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn seed_001_what_is_no_such_table_is_refused_and_leaves_no_task() {
    let place = Place::new();
    let path = place.path("checkpoints.sqlite");
    let refused = |what: &str| {
        for line in
            ["import checkpoints.sqlite --format checkpoint-table", "import checkpoints.sqlite"]
        {
            let ran = place.say(line);
            assert!(matches!(ran.code, 1 | 3), "{what}: {ran:?}");
            assert!(ran.err.contains("error: ") && ran.err.contains("hint: "), "{what}: {ran:?}");
            assert!(!ran.err.contains("panicked"), "{what}: {ran:?}");
        }
    };
    fs::write(&path, "not a database at all").unwrap();
    refused("text");
    fs::write(&path, [b"SQLite format 3\0".as_slice(), &[7; 4000]].concat()).unwrap();
    refused("a beginning, and garbage");
    fs::remove_file(&path).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE other (x)").unwrap();
    refused("another table");
    let view = "CREATE VIEW checkpoints AS WITH RECURSIVE n(x) AS
        (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS rowid, x AS id, 't' AS task_id,
        1 AS iteration, '' AS run_control_state, '' AS rule_system, '' AS branch_id,
        '' AS lineage_type, '' AS checksum, 1 AS created_at FROM n";
    connection.execute_batch(view).unwrap();
    refused("a view that never ends");
    connection
        .execute_batch("DROP VIEW checkpoints; CREATE TABLE checkpoints (id, task_id)")
        .unwrap();
    refused("other columns");
    let computed =
        "DROP TABLE checkpoints; CREATE TABLE checkpoints (id, task_id, iteration, state,
        run_control_state, prompt, rule_system AS (zeroblob(1000000000)), artifacts, user_guidance,
        branch_id, parent_id, lineage_type, branch_description, checksum, created_at)";
    connection.execute_batch(computed).unwrap();
    refused("a computed column");
    connection.execute_batch(&format!("DROP TABLE checkpoints; {MIGRATION}")).unwrap();
    refused("no row");
    assert_eq!(place.items("tasks"), json!([]));
}

#[test]
fn seed_001_a_database_cut_anywhere_is_refused_or_imported_in_part() {
    let whole = fs::read(run().path("checkpoints.sqlite")).unwrap();
    for cut in (1..whole.len()).step_by(whole.len() / 7) {
        let place = Place::new();
        place.write("cut.sqlite", &whole[..cut]);
        let ran = place.say("import cut.sqlite --format checkpoint-table");
        assert!(matches!(ran.code, 0 | 1 | 3), "cut at {cut}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "cut at {cut}: {ran:?}");
    }
}

#[test]
fn seed_001_triggers_of_a_database_do_not_run() {
    let place = run();
    let connection = Connection::open(place.path("checkpoints.sqlite")).unwrap();
    let trigger = "CREATE TRIGGER own AFTER INSERT ON checkpoints BEGIN
        DELETE FROM checkpoints; END;";
    connection.execute_batch(trigger).unwrap();
    drop(connection);
    let before = fs::read(place.path("checkpoints.sqlite")).unwrap();
    let said = place.json("import checkpoints.sqlite");
    assert_eq!(number(&said["tasks"][0], "checkpoints"), 4);
    assert_eq!(fs::read(place.path("checkpoints.sqlite")).unwrap(), before);
}
