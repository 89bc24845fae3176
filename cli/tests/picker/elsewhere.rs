//! The picker without a terminal, without checkpoints, or with the store open in another program.

use milepost::{Engine, Options};
use serde_json::Value;

use crate::common::terminal::{DOWN, ENTER, ESC, Ended, Terminal};
use crate::common::{Place, Serving};
use crate::picker::{CHOSEN, OPENED, USUAL, WIDE, lineages, open, place, unchanged, wait_whole};

#[test]
fn a_store_without_checkpoints_says_so_on_a_terminal_and_on_a_pipe() {
    let place = Place::new();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    engine.start_task("empty", "ana").unwrap();
    engine.close().unwrap();
    for line in ["checkpoint", "checkpoint empty", "restore"] {
        let ended = Terminal::of(&place, line, USUAL).ended();
        let expected = Ended { code: 0, text: "No checkpoints found.".into() };
        assert_eq!(ended, expected, "{line}");
        assert_eq!(place.say(line).ok(), "No checkpoints found.\n");
    }
    assert_eq!(place.say("checkpoint --json").ok(), "[]\n");
    place.say("checkpoint nope").failed(1, "`nope`");
    // 000: a fresh folder has no checkpoints, which is no error.
    let fresh = Place::new();
    assert_eq!(fresh.say("checkpoint").ok(), "No checkpoints found.\n");
    assert_eq!(fresh.say("restore").ok(), "No checkpoints found.\n");
    assert_eq!(fresh.say("checkpoint --json").ok(), "[]\n");
    fresh.say("checkpoint t").failed(1, "no store");
    fresh.say("--store elsewhere checkpoint").failed(1, "no store");
}

#[test]
fn a_pipe_gets_the_list_by_task_and_so_does_who_asks_for_json() {
    let place = place();
    let list = place.say("checkpoint").ok();
    let begins: Vec<&str> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!((begins[0], begins[1]), ("tuning", "CHECKPOINT"), "{list}");
    assert_eq!((begins[6], begins[7]), ("essay", "CHECKPOINT"), "{list}");
    assert_eq!(begins.len(), 10);
    assert!(list.lines().nth(2).unwrap().contains("better"), "{list}");
    assert_eq!(place.say("restore").ok(), list);
    let of_task = place.say("checkpoint essay").ok();
    assert!(list.ends_with(&of_task) && of_task.starts_with("essay (user ana)\n"));
    let of = |group: &Value| -> Vec<Value> {
        let items = group["checkpoints"].as_array().unwrap();
        items.iter().map(|item| item["checkpoint"].clone()).collect()
    };
    let groups = place.json("checkpoint");
    assert_eq!(Value::Array(of(&groups[0])), place.items("checkpoints tuning"));
    assert_eq!(Value::Array(of(&groups[1])), place.items("checkpoints essay"));
    assert_eq!(place.json("checkpoint essay")[0], groups[1]);
    // On a terminal too: `--json` shows no screen.
    let ended = Terminal::of(&place, "checkpoint essay --json", WIDE).ended();
    assert!(ended.text.starts_with("[{\"task\":"), "{ended:?}");
    assert_eq!(lineages(&place, "tuning"), 1);
}

#[test]
fn a_store_in_use_is_picked_from_through_its_program() {
    let place = place();
    let serving = Serving::of(&place);
    let mut terminal = open(&place, "checkpoint", USUAL);
    wait_whole(&mut terminal, OPENED);
    terminal.press(DOWN);
    terminal.press(DOWN);
    wait_whole(&mut terminal, CHOSEN);
    terminal.press(ENTER);
    terminal.wait_for("[Y/n]");
    terminal.press("y");
    let ended = terminal.ended();
    assert!(ended.text.contains("tuning continues on lineage 1"), "{ended:?}");
    assert_eq!(lineages(&place, "tuning"), 2);
    drop(serving);
    assert_eq!(lineages(&place, "tuning"), 2);
}

#[test]
fn other_commands_go_on_while_the_screen_is_open() {
    let place = place();
    let mut terminal = open(&place, "checkpoint", USUAL);
    place.say("mark tuning meanwhile").ok();
    assert_eq!(lineages(&place, "essay"), 1);
    terminal.press(ESC);
    assert_eq!(terminal.ended(), unchanged());
    assert!(place.say("checkpoints").ok().contains("meanwhile"));
}
