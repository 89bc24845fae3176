//! Terminals and lists of every size.

use crate::common::Place;
use crate::common::terminal::{CTRL_C, DOWN, END, ENTER, ESC, PAGE_DOWN, Terminal};
use crate::picker::{CHOSEN, USUAL, open, place, steps, unchanged, wait_whole};

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let place = place();
    let mut terminal = open(&place, "checkpoint", USUAL);
    terminal.press(DOWN);
    terminal.press(DOWN);
    wait_whole(&mut terminal, CHOSEN);
    terminal.resize(120, 40);
    terminal.wait("the preview at the right", |screen| {
        screen.contains("│ better") && screen.lines().count() == 40
    });
    terminal.resize(40, 10);
    let small = "\
> | 6 checkpoints
CHECKPOINT | TIME
(current) | leave everything as it is
tuning | user ana, head @14, AGO
> better | AGO
@ID | AGO
@ID | AGO
@ID | AGO
essay | user ana, head @9, AGO
Enter restore | Esc leave | Tab next ta…";
    wait_whole(&mut terminal, small);
    terminal.resize(80, 24);
    wait_whole(&mut terminal, CHOSEN);
    terminal.press(ESC);
    assert_eq!(terminal.ended(), unchanged());
}

#[test]
fn a_terminal_of_a_few_cells_is_enough() {
    let place = place();
    for size in [(20, 4), (12, 3), (2, 1), (1, 1)] {
        let mut terminal = Terminal::of(&place, "checkpoint", size);
        terminal.wait("something", |screen| !screen.trim().is_empty());
        terminal.press(DOWN);
        terminal.press(ENTER);
        terminal.press("n");
        terminal.press(CTRL_C);
        assert_eq!(terminal.ended().code, 0, "{size:?}");
    }
}

#[test]
fn without_colours_no_cell_is_coloured() {
    let place = place();
    let coloured = |line: &str| {
        let mut terminal = open(&place, line, USUAL);
        terminal.press(DOWN);
        terminal.press(DOWN);
        terminal.wait_for("~ /variables/score");
        let screen = terminal.screen();
        let cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
        let colour = |(row, column)| screen.cell(row, column).unwrap().fgcolor();
        let count = cells.filter(|at| colour(*at) != vt100::Color::Default).count();
        let reversed = screen.cell(4, 0).unwrap().inverse();
        terminal.press(ESC);
        assert_eq!(terminal.ended(), unchanged());
        (count > 0, reversed)
    };
    assert_eq!(coloured("checkpoint"), (true, true));
    assert_eq!(coloured("checkpoint --color never"), (false, true));
}

#[test]
fn thousands_of_checkpoints_open_at_once_and_are_all_found() {
    let place = Place::new();
    place.write("run.jsonl", steps(5000));
    place.say("record --task long --user ana run.jsonl").ok();
    let mut terminal = open(&place, "checkpoint", USUAL);
    let screen = terminal.wait_for("4998: try");
    // The remaining entries are read when the cursor comes near to them.
    assert!(screen.contains("200+ checkpoints"), "{screen}");
    terminal.press(PAGE_DOWN);
    terminal.press(PAGE_DOWN);
    terminal.wait_for("4984: try");
    terminal.press(END);
    let screen = terminal.wait_for("5,000 checkpoints");
    assert!(!screen.contains('+'), "{screen}");
    terminal.wait("the first step", |screen| {
        screen.lines().any(|line| line.starts_with("> @") && line.contains("  1: try  "))
    });
    terminal.press("step 4321");
    terminal.wait_for("1 of 5,000");
    terminal.wait_for("~ /variables/score: 5000 -> 4321");
    terminal.press(ENTER);
    terminal.wait_for("[Y/n]");
    terminal.press("y");
    assert_eq!(terminal.ended().code, 0);
    let state = place.json("state long");
    assert_eq!(state["variables"]["score"], 4321);
}

#[test]
fn a_filter_reads_on_while_few_match() {
    let place = Place::new();
    place.write("run.jsonl", steps(1500));
    place.say("record --task long --user ana run.jsonl").ok();
    let mut terminal = open(&place, "checkpoint", USUAL);
    terminal.press("{\"step\":3}");
    terminal.wait_for("1 of 1,500");
    terminal.wait_chosen("@");
    terminal.press(ESC);
    assert_eq!(terminal.ended(), unchanged());
}
