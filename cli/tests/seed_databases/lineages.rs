//! Branches of a table become lineages.

use milepost::{Engine, Options};
use serde_json::{Value, json};

use crate::common::{Place, text};
use crate::seed_databases::tables::{Row, database, put};

/// A row named by its id, branch and parent, `at` seconds after the first.
fn row<'a>(id: &'a str, branch: &'a str, parent: Option<&'a str>, at: i64) -> Row<'a> {
    let created_at = 1_768_700_000_000 + at * 1000;
    Row { id, prompt: id, branch, parent, created_at, ..Row::default() }
}

fn lineages(place: &Place) -> Vec<Value> {
    place.json("lineages task-1").as_array().unwrap().clone()
}

/// The prompts of the rows on the way to the one with an id.
fn history_of(place: &Place, id: &str) -> Vec<String> {
    let listed = place.items("checkpoints task-1 --limit 100");
    let mark = listed.as_array().unwrap().iter().find(|mark| mark["aliases"] == json!([id]));
    history(place, &format!("@{}", text(mark.unwrap(), "id")))
}

/// The prompts of the rows on the way to a point.
fn history(place: &Place, address: &str) -> Vec<String> {
    let events = place.lines(&format!("log {address} --kind prompt_changed"));
    events.iter().map(|event| text(&event["body"], "prompt").to_owned()).collect()
}

#[test]
fn seed_001_a_parent_that_is_not_the_last_row_opens_a_lineage() {
    let place = Place::new();
    let connection = database(&place);
    for (id, parent, at) in [("a", None, 0), ("b", Some("a"), 1), ("c", Some("a"), 2)] {
        put(&connection, &row(id, "main", parent, at));
    }
    // The older row of a parent with a clock ahead of its own comes behind it.
    put(&connection, &row("d", "main", Some("e"), 3));
    put(&connection, &row("e", "main", Some("c"), 4));
    place.say("import checkpoints.sqlite").ok();
    let found = lineages(&place);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[1]["description"], "c");
    assert_eq!(history(&place, "task-1/0"), ["a", "b"]);
    assert_eq!(history(&place, "task-1/1"), ["a", "c", "e", "d"]);
    assert_eq!(place.json("state task-1")["prompt"], "d", "the lineage of the newest is active");
}

#[test]
fn seed_001_another_branch_id_is_a_lineage_of_its_own() {
    let place = Place::new();
    let connection = database(&place);
    put(&connection, &row("a", "main", None, 0));
    put(&connection, &row("b", "main", None, 1));
    // At the last row of its parent, and without a parent.
    let tried = Row { description: Some("try it"), ..row("x", "tried", Some("b"), 2) };
    put(&connection, &tried);
    put(&connection, &row("y", "fresh", None, 3));
    put(&connection, &row("c", "main", None, 4));
    put(&connection, &row("x2", "tried", None, 5));
    put(&connection, &row("y2", "fresh", None, 6));
    place.say("import checkpoints.sqlite").ok();
    let found = lineages(&place);
    let descriptions: Vec<&Value> = found.iter().map(|one| &one["description"]).collect();
    assert_eq!(descriptions[1..3], [&json!("try it x"), &json!("y")]);
    assert_eq!(history(&place, "task-1/0"), ["a", "b", "c"]);
    assert_eq!(history(&place, "task-1/1"), ["a", "b", "x", "x2"]);
    assert_eq!(history(&place, "task-1"), ["y", "y2"]);
    let state = place.json("state task-1@y");
    assert_eq!(state["prompt"], "y");
    let again = place.json("import checkpoints.sqlite");
    assert_eq!(again["tasks"][0]["events"], 0);
    assert_eq!(lineages(&place).len(), found.len());
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn seed_001_rows_behind_deleted_parents_continue_where_those_were() {
    let place = Place::new();
    let connection = database(&place);
    put(&connection, &row("a", "main", None, 0));
    put(&connection, &row("b", "main", Some("a"), 1));
    put(&connection, &row("x", "tried", Some("a"), 2));
    place.say("import checkpoints.sqlite").ok();
    connection.execute("DELETE FROM checkpoints", []).unwrap();
    put(&connection, &row("b2", "main", Some("b"), 3));
    put(&connection, &row("x2", "tried", None, 4));
    put(&connection, &row("n", "new", Some("b"), 5));
    put(&connection, &row("o", "lost", Some("never there"), 6));
    place.say("import checkpoints.sqlite").ok();
    assert_eq!(history_of(&place, "b2"), ["a", "b", "b2"]);
    assert_eq!(history_of(&place, "x2"), ["a", "x", "x2"]);
    assert_eq!(history_of(&place, "n"), ["a", "b", "n"]);
    assert_eq!(history_of(&place, "o"), ["o"]);
}

#[test]
fn seed_001_a_circle_of_parents_ends() {
    let place = Place::new();
    let connection = database(&place);
    put(&connection, &row("a", "main", Some("b"), 0));
    put(&connection, &row("b", "main", Some("a"), 1));
    put(&connection, &row("c", "main", Some("c"), 2));
    place.say("import checkpoints.sqlite").ok();
    assert_eq!(place.items("checkpoints task-1").as_array().unwrap().len(), 3);
}

#[test]
fn seed_001_a_table_imported_while_it_grows_is_the_same_as_at_once() {
    let rows = [
        row("a", "main", None, 0),
        row("b", "main", None, 1),
        Row { description: Some("try it"), ..row("x", "tried", Some("a"), 2) },
        row("c", "main", Some("b"), 3),
        row("x2", "tried", None, 4),
        row("y", "fresh", None, 5),
        row("d", "main", Some("b"), 6),
        row("c2", "main", Some("c"), 7),
    ];
    let whole = Place::new();
    let connection = database(&whole);
    rows.iter().for_each(|row| put(&connection, row));
    whole.say("import checkpoints.sqlite").ok();
    let grown = Place::new();
    let connection = database(&grown);
    for row in &rows {
        put(&connection, row);
        let said = grown.json("import checkpoints.sqlite");
        assert_eq!(said["tasks"][0]["checkpoints"], 1, "{}", row.id);
        assert_eq!(grown.json("state task-1")["prompt"], row.id, "the newest row is active");
    }
    for row in &rows {
        assert_eq!(history_of(&grown, row.id), history_of(&whole, row.id), "{}", row.id);
    }
    assert_eq!(grown.json("state task-1"), whole.json("state task-1"));
    assert_eq!(grown.json("verify")["faults"], json!([]));
}

#[test]
fn seed_001_a_lineage_opened_before_a_crash_is_used_afterwards() {
    let place = Place::new();
    let connection = database(&place);
    put(&connection, &row("a", "main", None, 0));
    put(&connection, &row("b", "main", None, 1));
    place.say("import checkpoints.sqlite").ok();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let lineage = engine.task("task-1").unwrap().lineage().clone();
    let end = lineage.appended_under("checkpoints:a").unwrap().unwrap().end;
    engine.branch(&lineage.point(end).unwrap()).description("try it x").run().unwrap();
    engine.close().unwrap();
    put(&connection, &Row { description: Some("try it"), ..row("x", "tried", Some("a"), 2) });
    place.say("import checkpoints.sqlite").ok();
    let found = lineages(&place);
    let opened = found.iter().filter(|one| one["description"] == "try it x");
    assert_eq!(opened.count(), 1, "{found:?}");
    assert_eq!(history(&place, "task-1"), ["a", "x"]);
}
