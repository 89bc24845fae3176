//! `checkpoint` on a terminal: keys are pressed, and screens are compared.

mod elsewhere;
mod size;

use std::fs;
use std::path::Path;

use crate::common::terminal::{
    CTRL_C, CTRL_N, CTRL_P, CTRL_U, DOWN, ENTER, ESC, Ended, HOME, TAB, Terminal, UP,
};
use crate::common::{Place, number, text};

const USUAL: (u16, u16) = (80, 24);
/// Lines are not broken on it.
const WIDE: (u16, u16) = (160, 40);

/// Steps of a run that sets a score.
fn steps(count: u64) -> String {
    let step = |step| {
        format!(
            "{{\"kind\":\"step_started\",\"step\":{step},\"name\":\"try\"}}\n\
             {{\"kind\":\"variables_patched\",\"form\":\"merge\",\"patch\":{{\"score\":{step}}}}}\n\
             {{\"kind\":\"step_finished\",\"step\":{step}}}\n"
        )
    };
    (1..=count).map(step).collect()
}

/// The tasks `essay` with two steps, and `tuning` with three, of which the second is called
/// `better`.
fn place() -> Place {
    let place = Place::new();
    for (task, count) in [("essay", 2), ("tuning", 3)] {
        place.write("run.jsonl", steps(count));
        let line = format!("record --task {task} --user ana run.jsonl");
        place.say(&line).ok();
    }
    let points = place.items("checkpoints tuning");
    let second = number(&points[1], "at");
    place.say(&format!("mark tuning@{second} better")).ok();
    place
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Another place with the same store.
fn twin(place: &Place) -> Place {
    let other = Place::new();
    copy(&place.store(), &other.store());
    other
}

fn lineages(place: &Place, task: &str) -> usize {
    let lineages = place.json(&format!("lineages {task}"));
    lineages.as_array().unwrap().len()
}

/// The picker on a terminal, with its list there.
fn open(place: &Place, line: &str, size: (u16, u16)) -> Terminal {
    let mut terminal = Terminal::of(place, line, size);
    terminal.wait_chosen("(current)");
    terminal
}

fn unchanged() -> Ended {
    Ended { code: 0, text: "nothing was changed".into() }
}

/// Returns the cells of a screen, without ids and times, which differ each time.
fn timeless(screen: &str) -> String {
    let cell = |cell: &str| {
        let cell = cell.trim();
        let bare = cell.trim_start_matches(['>', ' ', '@']).trim_end_matches('…');
        if bare.len() >= 12 && bare.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return cell.replace(bare, "ID");
        }
        // A fraction of a second that ends in zeros is shorter.
        if bare.len() >= 20 && bare.ends_with('Z') && bare.as_bytes()[10] == b'T' {
            return "TIME".to_owned();
        }
        match cell.rsplit_once(", ") {
            Some((front, time)) if is_ago(time) => format!("{front}, AGO"),
            _ if is_ago(cell) => "AGO".to_owned(),
            _ => cell.to_owned(),
        }
    };
    let line = |line: &str| {
        let cells = line.split("  ").filter(|cell| !cell.trim().is_empty());
        cells.map(cell).collect::<Vec<_>>().join(" | ")
    };
    screen.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn is_ago(text: &str) -> bool {
    text == "just now" || text.ends_with(" ago")
}

/// Waits until the whole screen is this one.
#[track_caller]
fn wait_whole(terminal: &mut Terminal, expected: &str) {
    terminal.wait(expected, |screen| timeless(screen) == expected.trim_end());
}

const OPENED: &str = "\
> | 6 checkpoints
CHECKPOINT | STEP | TIME | CAUSE | EVENTS
> (current) | leave everything as it is
tuning | user ana, head @14, AGO
better | 2: try | AGO | manual
@ID | 3: try | AGO | step | 4
@ID | 2: try | AGO | step | 4
@ID | 1: try | AGO | step | 4
essay | user ana, head @9, AGO
@ID | 2: try | AGO | step | 4
@ID | 1: try | AGO | step | 4

────────────────────────────────────────────────────────────────────────────────
(current)
Enter on it changes nothing.








Enter restore | Esc leave | Tab next task | type to filter | ? keys
";

const CHOSEN: &str = "\
> | 6 checkpoints
CHECKPOINT | STEP | TIME | CAUSE | EVENTS
(current) | leave everything as it is
tuning | user ana, head @14, AGO
> better | 2: try | AGO | manual
@ID | 3: try | AGO | step | 4
@ID | 2: try | AGO | step | 4
@ID | 1: try | AGO | step | 4
essay | user ana, head @9, AGO
@ID | 2: try | AGO | step | 4
@ID | 1: try | AGO | step | 4

────────────────────────────────────────────────────────────────────────────────
better | the state, if it is restored
point | tuning/0@8 | ~ /step/number: 3 -> 2
id | ID… | ~ /variables/score: 3 -> 2
time | TIME
status | success, manual
size | 8 events, state 367 B

no files were captured there


Enter restore | Esc leave | Tab next task | type to filter | ? keys
";

#[test]
fn checkpoints_stand_by_task_with_what_a_restore_would_change() {
    let place = place();
    let mut terminal = open(&place, "checkpoint", USUAL);
    wait_whole(&mut terminal, OPENED);
    terminal.press(DOWN);
    terminal.press(DOWN);
    wait_whole(&mut terminal, CHOSEN);
    terminal.press(UP);
    terminal.press(UP);
    wait_whole(&mut terminal, OPENED);
    terminal.press(ESC);
    assert_eq!(terminal.ended(), unchanged());
    assert_eq!(lineages(&place, "tuning"), 1);
}

#[test]
fn what_is_picked_is_restored_and_the_lines_of_restore_are_printed() {
    let place = place();
    let other = twin(&place);
    let first = text(&place.items("checkpoints essay")[1], "id").to_owned();
    let said = other.run(["restore", &format!("@{first}"), "-m", "again"]).ok();
    let mut terminal = open(&place, "checkpoint -m again", WIDE);
    terminal.press(TAB);
    terminal.wait_chosen("better");
    terminal.press(TAB);
    terminal.press(CTRL_N);
    terminal.press(CTRL_N);
    terminal.press(CTRL_P);
    terminal.press(DOWN);
    terminal.wait_chosen(&format!("@{}", &first[..12]));
    terminal.press(ENTER);
    terminal.wait_for("Restore essay to essay/0@4?");
    terminal.press("y");
    let ended = terminal.ended();
    assert_eq!((ended.code, ended.text.as_str()), (0, said.trim_end()));
    // Recorded events name the checkpoint, here and there.
    for place in [&place, &other] {
        assert_eq!(lineages(place, "essay"), 2);
        assert_eq!(lineages(place, "tuning"), 1);
        let restored = place.lines("log essay --kind restored");
        assert_eq!(restored[0]["body"]["checkpoint"], first.as_str(), "{restored:?}");
        let opened = &place.json("lineages essay")[1];
        assert_eq!(opened["description"], "again");
    }
}

#[test]
fn enter_answers_the_question_too_and_yes_leaves_it_out() {
    let place = place();
    let mut terminal = open(&place, "checkpoint essay", USUAL);
    assert!(!terminal.text().contains("tuning"));
    terminal.press(DOWN);
    terminal.press(ENTER);
    terminal.wait_for("[Y/n]");
    terminal.press(ENTER);
    let ended = terminal.ended();
    assert!(ended.text.contains("essay continues on lineage 1"), "{ended:?}");
    let mut terminal = open(&place, "checkpoint essay --yes", USUAL);
    terminal.press(DOWN);
    terminal.press(ENTER);
    let ended = terminal.ended();
    assert!(ended.text.contains("essay continues on lineage 2"), "{ended:?}");
    assert_eq!(lineages(&place, "essay"), 3);
}

#[test]
fn esc_goes_back_from_the_question_and_current_leaves_everything_as_it_is() {
    let place = place();
    let before = place.json("lineages tuning");
    let mut terminal = open(&place, "checkpoint", USUAL);
    terminal.press(DOWN);
    terminal.press(ENTER);
    terminal.wait_for("[Y/n]");
    terminal.press(ESC);
    terminal.wait("the list", |screen| !screen.contains("[Y/n]"));
    terminal.press(HOME);
    terminal.wait_chosen("(current)");
    terminal.press(ENTER);
    assert_eq!(terminal.ended(), unchanged());
    for keys in [[CTRL_C, ""], ["q", ""], [DOWN, CTRL_C]] {
        let mut terminal = open(&place, "checkpoint", USUAL);
        terminal.press(&keys.concat());
        assert_eq!(terminal.ended(), unchanged(), "{keys:?}");
    }
    let mut terminal = open(&place, "checkpoint", USUAL);
    terminal.press(DOWN);
    terminal.press(ENTER);
    terminal.wait_for("[Y/n]");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), unchanged());
    assert_eq!(place.json("lineages tuning"), before);
}

#[test]
fn letters_filter_and_ctrl_u_takes_them_back() {
    let place = place();
    let mut terminal = open(&place, "checkpoint", USUAL);
    terminal.press("essay step 1");
    terminal.wait_for("1 of 6");
    let screen = terminal.wait_chosen("@");
    assert!(screen.contains("essay") && !screen.contains("tuning  "), "{screen}");
    terminal.press("xyz");
    terminal.wait_for("nothing has all of these words");
    terminal.press(CTRL_U);
    terminal.wait_for("6 checkpoints");
    terminal.press("BETTER");
    terminal.wait_chosen("better");
    // `y` would be an answer; what is pasted is none, where the terminal was asked to tell.
    assert!(terminal.screen().bracketed_paste());
    terminal.press("\x1b[200~\ry\r\x1b[201~");
    terminal.wait_for("> BETTERy");
    terminal.press("\x7f");
    terminal.wait_chosen("better");
    terminal.press("\x7f\x7fER");
    terminal.press(ENTER);
    terminal.wait_for("Restore tuning to tuning/0@8?");
    terminal.press("y");
    let ended = terminal.ended();
    assert!(ended.text.starts_with("back to tuning/0@8\n"), "{ended:?}");
}

#[test]
fn a_restore_without_an_address_picks_one_and_files_need_an_address() {
    let place = place();
    let mut terminal = open(&place, "restore -m why", USUAL);
    terminal.press(DOWN);
    terminal.press(ENTER);
    terminal.wait_for("[Y/n]");
    terminal.press("y");
    assert_eq!(terminal.ended().code, 0);
    assert_eq!(place.json("lineages tuning")[1]["description"], "why");
    for line in ["restore --files work", "restore --dry-run", "restore --moved"] {
        place.say(line).failed(2, "address is needed");
    }
}

/// A task whose steps have names, also where its checkpoints name the numbers only.
fn named() -> Place {
    let place = Place::new();
    let step = |step: u64, name: &str| {
        format!(
            "{{\"kind\":\"step_started\",\"step\":{step},\"name\":\"{name}\"}}\n\
             {{\"kind\":\"step_finished\",\"step\":{step}}}\n"
        )
    };
    place.write("exec-001.jsonl", step(1, "fetch") + &step(2, "data_processing"));
    place.say("record --user ana exec-001.jsonl").ok();
    place.write("exec-002.jsonl", step(7, "clean"));
    place.say("record --user bob exec-002.jsonl").ok();
    place.run(["mark", "exec-001", "good", "--metadata", r#"{"step":2,"of":1.50}"#]).ok();
    place
}

#[test]
fn seed_000_the_name_of_the_step_and_the_label_are_both_shown() {
    let place = named();
    let mut terminal = open(&place, "checkpoint", USUAL);
    terminal.wait("the step of the label", |screen| {
        let row = screen.lines().find(|line| line.contains("good"));
        row.is_some_and(|row| row.contains("2: data_p…"))
    });
    // The column cuts the name.
    terminal.press(DOWN);
    terminal.wait_for("step      2: data_processing");
    terminal.press(ESC);
    assert_eq!(terminal.ended(), unchanged());
    let out = place.say("checkpoint").ok();
    let row = out.lines().find(|line| line.contains(" good ")).unwrap();
    assert!(row.contains("  2: data_processing  good  "), "{out}");
    assert!(out.contains("exec-002 (user bob)\n") && out.contains("  7: clean  "), "{out}");
}

#[test]
fn seed_000_the_json_of_the_picker_is_grouped_by_execution() {
    let place = named();
    let groups = place.json("checkpoint");
    let tasks: Vec<[&str; 2]> = groups
        .as_array()
        .unwrap()
        .iter()
        .map(|group| [text(group, "task"), text(group, "user")])
        .collect();
    assert_eq!(tasks, [["exec-001", "ana"], ["exec-002", "bob"]]);
    let newest = &groups[0]["checkpoints"][0];
    assert_eq!(newest["step"], "2: data_processing");
    assert_eq!(newest["checkpoint"], place.items("checkpoints exec-001")[0]);
    // Values of the metadata are as they were given.
    assert!(place.say("checkpoint --json").ok().contains("1.50"));
    assert_eq!(place.json("checkpoint exec-002").as_array().unwrap().len(), 1);
}

#[test]
fn files_go_back_too_where_some_were_captured() {
    let place = Place::new();
    fs::create_dir(place.path("work")).unwrap();
    place.write("run.jsonl", steps(1));
    place.say("record --task essay --user ana run.jsonl").ok();
    for text in ["one", "two"] {
        place.write("work/draft.md", text);
        place.say(&format!("capture work --task essay --label {text}")).ok();
    }
    let mut terminal = open(&place, "checkpoint", WIDE);
    terminal.press("one");
    terminal.wait_chosen("one");
    terminal.wait_for("1 file captured");
    terminal.wait_for("draft.md");
    terminal.press(ENTER);
    terminal.wait_for("[Y/n, f: with its files]");
    terminal.press("f");
    let ended = terminal.ended();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.text.contains("with the files of"), "{ended:?}");
    assert_eq!(fs::read_to_string(place.path("work/draft.md")).unwrap(), "one");
    assert_eq!(lineages(&place, "essay"), 2);
    // A conflict has the same message as in `rollback`, and the files stay unchanged.
    place.write("work/draft.md", "mine");
    let mut terminal = open(&place, "checkpoint", WIDE);
    terminal.press("two");
    terminal.wait_chosen("two");
    terminal.press(ENTER);
    terminal.wait_for("f: with its files]");
    terminal.press("f");
    let ended = terminal.ended();
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(ended.text.contains("in the way: nothing was done"), "{ended:?}");
    assert_eq!(fs::read_to_string(place.path("work/draft.md")).unwrap(), "mine");
}

#[test]
fn the_terminal_is_given_back_before_a_signal_ends_the_command() {
    let place = place();
    for signal in ["TERM", "HUP"] {
        let terminal = open(&place, "checkpoint", USUAL);
        terminal.signal(signal);
        let ended = terminal.ended();
        assert_ne!(ended.code, 0, "{signal}: {ended:?}");
        assert_eq!(ended.text, "", "{signal}");
    }
    assert_eq!(lineages(&place, "tuning"), 1);
}
