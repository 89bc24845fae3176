//! Plans with the files of a folder.

use std::fs;
use std::process::Command;

use crate::common::Place;
use crate::common::terminal::{CTRL_C, ENTER, Terminal};
use crate::tui::{WIDE, steps};

/// The task `essay`, with a folder `work` that was captured twice: with `one` in each file, and
/// with `two`.
fn captured(names: &[&str]) -> Place {
    let place = Place::new();
    fs::create_dir(place.path("work")).unwrap();
    place.write("run.jsonl", steps(1, &[]));
    place.say("record --task essay --user ana run.jsonl").ok();
    for text in ["one", "two"] {
        for name in names {
            place.write(&format!("work/{name}"), text);
        }
        place.say(&format!("capture work --task essay --label {text}")).ok();
    }
    place
}

/// Asks for the plan of a roll back with files to the first capture.
fn rolling_back_files(place: &Place) -> Terminal {
    let mut terminal = Terminal::of(place, "tui essay@one", WIDE);
    // The turns are read: the key goes from the step to its first event.
    terminal.wait_for("@1 to @7");
    terminal.press("v");
    terminal.wait_for("[Events]");
    terminal.press(":9\r");
    terminal.wait_for("10 of 12");
    terminal.press("r");
    terminal.wait_for("f with files");
    terminal.press("f");
    terminal
}

#[test]
fn files_go_back_after_their_plan() {
    let place = captured(&["draft.md"]);
    let mut terminal = rolling_back_files(&place);
    terminal.wait_for("these files of");
    assert!(terminal.text().contains("draft.md"), "{}", terminal.text());
    assert_eq!(fs::read_to_string(place.path("work/draft.md")).unwrap(), "two");
    terminal.press("y");
    terminal.wait_for("back at");
    assert_eq!(fs::read_to_string(place.path("work/draft.md")).unwrap(), "one");
    terminal.press("u");
    terminal.wait_for("[No] n");
    terminal.press("y");
    terminal.wait_for("lineage 0 is active");
    assert_eq!(fs::read_to_string(place.path("work/draft.md")).unwrap(), "two");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().code, 0);
}

#[test]
fn conflicts_of_a_roll_back_and_of_its_undo_are_chosen_one_by_one() {
    let names = ["a.md", "b.md", "c.md"];
    let place = captured(&names);
    let files = || names.map(|name| fs::read_to_string(place.path("work").join(name)).unwrap());
    let write = |name: &str, text: &str| fs::write(place.path("work").join(name), text).unwrap();
    // Changed since the last capture.
    write("a.md", "mine a");
    write("b.md", "mine b");
    let mut terminal = rolling_back_files(&place);
    terminal.wait_for("2 conflicts: 2 kept, 0 taken");
    terminal.wait_for("> keep  a.md");
    terminal.wait_for("~ c.md");
    terminal.press("jx");
    terminal.wait_for("> take  b.md");
    terminal.wait_for("1 kept, 1 taken");
    terminal.press(ENTER);
    terminal.wait_for("nothing was changed");
    assert_eq!(files(), ["mine a", "mine b", "two"]);
    terminal.press("r");
    terminal.wait_for("f with files");
    terminal.press("f");
    terminal.wait_for("> keep  a.md");
    terminal.press("jx");
    terminal.wait_for("> take  b.md");
    terminal.press("y");
    terminal.wait_for("back at");
    assert_eq!(files(), ["mine a", "one", "one"]);
    // The undo has its plan, with the folder and the path that was changed since.
    write("c.md", "mine c");
    terminal.press("u");
    terminal.wait_for("These files of");
    terminal.wait_for("> keep  c.md");
    terminal.press("y");
    terminal.wait_for("lineage 0 is active");
    assert_eq!(files()[2], "mine c");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().code, 0);
}

#[test]
fn a_store_from_elsewhere_does_not_decide_which_folder_goes_back() {
    let place = captured(&["a.md"]);
    let content = || fs::read_to_string(place.path("work/a.md")).unwrap();
    // A copy of a store has another maker.
    let copied = Command::new("cp").arg("-r").arg(place.store()).arg(place.path("copy")).status();
    assert!(copied.unwrap().success());
    fs::remove_dir_all(place.store()).unwrap();
    fs::rename(place.path("copy"), place.store()).unwrap();
    let mut terminal = rolling_back_files(&place);
    terminal.wait_for("folder to roll back");
    terminal.press("\u{15}work\r");
    terminal.wait_for("these files of");
    terminal.wait_for("[No] n");
    assert_eq!(content(), "two");
    terminal.press("y");
    terminal.wait_for("back at");
    assert_eq!(content(), "one");
    terminal.press("u");
    terminal.wait_for("folder of the undo");
    // It begins with the one that the store has.
    terminal.press(ENTER);
    terminal.wait_for("These files of");
    terminal.press("y");
    terminal.wait_for("lineage 0 is active");
    assert_eq!(content(), "two");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().code, 0);
}
