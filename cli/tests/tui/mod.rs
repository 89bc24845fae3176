//! `tui` on a terminal: keys are pressed, and screens are compared.

mod files;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::common::terminal::{CTRL_C, DOWN, ENTER, ESC, Ended, Terminal};
use crate::common::{Place, Serving};

const USUAL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (150, 40);
const LEFT: &str = "\x1b[D";

/// Steps of an agent that looks at a file each, in which these fail.
fn steps(count: u64, failed: &[u64]) -> String {
    let step = |step: u64| {
        let ok = !failed.contains(&step);
        let output = if ok { format!("{step} lines") } else { format!("no such file: {step}.md") };
        format!(
            r#"{{"kind":"step_started","step":{step},"name":"look"}}
{{"kind":"message","role":"assistant","content":"I look at file {step}."}}
{{"kind":"tool_called","call":"c{step}","tool":"cat","arguments":{{"path":"{step}.md"}}}}
{{"kind":"tool_returned","call":"c{step}","ok":{ok},"output":"{output}"}}
{{"kind":"variables_patched","patch":{{"score":{step}}}}}
{{"kind":"step_finished","step":{step},"metrics":{{"loss":0.5}}}}
"#
        )
    };
    (1..=count).map(step).collect()
}

/// The tasks `essay` with four steps, of which the third failed, and `plain` with two.
fn place() -> Place {
    let place = Place::new();
    for (task, count, failed) in [("plain", 2, &[][..]), ("essay", 4, &[3][..])] {
        let begin = "{\"kind\":\"control_changed\",\"from\":\"idle\",\"to\":\"running\"}\n";
        place.write("run.jsonl", begin.to_owned() + &steps(count, failed));
        place.say(&format!("record --task {task} --user ana run.jsonl")).ok();
    }
    place
}

fn lineages(place: &Place, task: &str) -> usize {
    place.json(&format!("lineages {task}")).as_array().unwrap().len()
}

fn score(place: &Place) -> u64 {
    place.json("state essay")["variables"]["score"].as_u64().unwrap()
}

#[test]
fn a_failure_is_found_in_the_list_and_the_task_rolled_back_and_undone() {
    let place = place();
    let mut terminal = Terminal::of(&place, "tui", USUAL);
    terminal.wait_chosen("essay");
    terminal.press("/");
    terminal.wait_for("has:failure");
    terminal.press("has:failure\r");
    terminal.wait("one task", |screen| screen.contains("essay") && !screen.contains("plain"));
    terminal.press(ENTER);
    terminal.wait_for("4 of 4");
    terminal.press("E");
    terminal.wait_for("3 of 4");
    let screen = terminal.text();
    assert!(screen.contains("no such file: 3.md"), "{screen}");
    terminal.press("l");
    terminal.wait_for("failed:");
    terminal.wait_for("path: 3.md");
    terminal.press(ESC);
    terminal.wait_for("3 of 4");
    terminal.press("r");
    terminal.wait_for("[No] n");
    assert!(terminal.text().contains("Roll essay back to essay/0@16?"));
    terminal.press(ENTER);
    terminal.wait_for("nothing was changed");
    assert_eq!((lineages(&place, "essay"), score(&place)), (1, 4));
    terminal.press("r");
    terminal.wait_for("[No] n");
    terminal.press("y");
    terminal.wait_for("back at essay/0@");
    assert_eq!((lineages(&place, "essay"), score(&place)), (2, 2));
    terminal.press("u");
    terminal.wait_for("last restore or switch");
    terminal.press("y");
    terminal.wait_for("lineage 0 is active");
    assert_eq!(score(&place), 4);
    terminal.press("K");
    terminal.wait_for("3 of 4");
    terminal.press(CTRL_C);
    let ended = terminal.ended();
    assert_eq!((ended.code, ended.text.starts_with("essay/0@")), (0, true), "{ended:?}");
    // The address that is printed leads there again.
    let mut terminal = Terminal::of(&place, &format!("tui {}", ended.text), USUAL);
    terminal.wait_for("3 of 4");
    terminal.press(ESC);
    terminal.wait_chosen("essay");
    terminal.press(ESC);
    assert_eq!(terminal.ended(), Ended { code: 0, text: "essay".into() });
}

#[test]
fn a_store_in_use_is_shown_through_its_program_and_what_comes_is_seen() {
    let place = place();
    let serving = Serving::of(&place);
    let mut terminal = Terminal::of(&place, "tui essay", WIDE);
    terminal.wait_for("4 of 4");
    terminal.wait_for("I look at file 4.");
    place.write("more.jsonl", steps(1, &[]));
    place.say("record --task essay more.jsonl").ok();
    terminal.wait_for("5 of 5");
    // The cursor is elsewhere, and stays there.
    terminal.press("g");
    terminal.wait_for("1 of 5");
    place.say("guide essay shorter").ok();
    terminal.wait_for("1 new");
    terminal.press("i");
    terminal.wait_for("guidance:");
    terminal.press("be brief\r");
    terminal.wait_for("[No] n");
    terminal.press("y");
    terminal.wait_for("sent: event @");
    terminal.press("p");
    terminal.wait_for("Pause essay");
    terminal.press("y");
    terminal.wait_for("set to paused");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().code, 0);
    drop(serving);
    let guidance = place.lines("log essay --kind guidance_given");
    assert_eq!(guidance[1]["body"]["text"], "be brief");
}

#[test]
fn what_is_there_stays_when_the_program_that_has_the_store_ends() {
    let place = place();
    let serving = Serving::of(&place);
    let mut terminal = Terminal::of(&place, "tui essay", USUAL);
    terminal.wait_for("4 of 4");
    terminal.wait_for("cat 4.md");
    drop(serving);
    // The bottom line has the failure in the place of the keys.
    terminal.wait("a failure", |screen| {
        screen.contains("4 of 4") && screen.contains("cat 4.md") && !screen.contains(". actions")
    });
    terminal.press("k");
    terminal.wait_for("3 of 4");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().text, "essay/0@16");
}

#[test]
fn tabs_events_addresses_and_conditions() {
    let place = place();
    let mut terminal = Terminal::of(&place, "tui essay", WIDE);
    terminal.wait_for("4 of 4");
    terminal.press("2");
    terminal.wait_for("\"score\": 4");
    terminal.press("3");
    terminal.wait_for("~ /variables/score: 3 -> 4");
    terminal.press("4");
    terminal.wait_for("no files were captured before this point");
    terminal.press("5");
    terminal.wait_for("\"kind\": \"step_started\"");
    terminal.press("v");
    terminal.wait_for("of 30");
    terminal.press(":3\r");
    terminal.wait_for("4 of 30");
    terminal.wait_for("hash ");
    terminal.press("b");
    terminal.wait_for("first event where");
    terminal.press("/variables/score > 2\r");
    terminal.wait_for("from @20 on: variables_patched in step 3");
    terminal.press("B");
    terminal.press("/variables/score\r");
    terminal.wait_for("set at @20 by variables_patched");
    terminal.press("/");
    terminal.press("file 4\r");
    terminal.wait_for("25 of 30");
    terminal.press("n");
    terminal.wait_for("no more: \"file 4\"");
    terminal.press(":nowhere@3\r");
    terminal.wait_for("nowhere");
    terminal.press("y");
    terminal.wait_for("copied: essay/0@24");
    terminal.press("Y");
    terminal.wait_for("a store on this disk has no link: `milepost ui`");
    terminal.press("a");
    terminal.wait_for("label of the mark");
    terminal.press("good\r");
    terminal.wait_for("[No] n");
    terminal.press("y");
    terminal.wait_for("marked: checkpoint @");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().text, "essay/0@24");
    let listed = place.say("checkpoints essay").ok();
    assert!(listed.contains("good"), "{listed}");
}

#[test]
fn a_turn_opens_into_its_events_and_a_step_of_several_turns_folds() {
    let place = Place::new();
    let turn = |at: u64| {
        let ok = at != 2;
        format!(
            r#"{{"kind":"message","role":"assistant","content":"I look at {at}."}}
{{"kind":"tool_called","call":"c{at}","tool":"cat","arguments":{{"path":"{at}.md"}}}}
{{"kind":"tool_returned","call":"c{at}","ok":{ok},"output":"output {at}"}}
"#
        )
    };
    let first = r#"{"kind":"step_started","step":1,"name":"look"}"#;
    let last = r#"{"kind":"step_finished","step":1}"#;
    let run = format!("{first}\n{}{}{}{last}\n{}", turn(1), turn(2), turn(3), steps(2, &[]));
    place.write("run.jsonl", run.replace(r#""step":2"#, r#""step":3"#));
    place.say("record --task essay --user ana run.jsonl").ok();
    let mut terminal = Terminal::of(&place, "tui essay", USUAL);
    terminal.wait_for("5 of 5");
    terminal.press("g");
    terminal.wait_for("1 of 5");
    terminal.wait_for("cat 3.md");
    terminal.press(ENTER);
    terminal.wait_for("▾   1");
    terminal.wait_for("@4     tool_returned  output 1");
    terminal.press("jjjy");
    terminal.wait_for("copied: essay/0@3");
    terminal.press(ENTER);
    terminal.wait_for("path: 1.md");
    // Out of the document, to the turn, its events, its step.
    terminal.press(LEFT);
    terminal.wait_for("▾   1");
    terminal.press(LEFT);
    terminal.press(LEFT);
    terminal.wait("a closed turn", |screen| !screen.contains("tool_returned"));
    terminal.press("j");
    terminal.wait_for("2 of 5");
    terminal.press(LEFT);
    terminal.wait_for("+   1 (3 turns) cat 1.md");
    terminal.wait("a folded step", |screen| !screen.contains("output 2"));
    terminal.press("j");
    terminal.wait_for("4 of 5");
    // A failure in the folded step unfolds it.
    terminal.press("E");
    terminal.wait_for("2 of 5");
    terminal.wait_for("output 2");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().code, 0);
}

#[test]
fn two_tasks_are_compared_and_either_side_is_opened() {
    let place = place();
    let mut terminal = Terminal::of(&place, "tui", WIDE);
    terminal.wait_chosen("essay");
    terminal.press("x");
    terminal.wait_for("chosen: essay");
    terminal.press(DOWN);
    terminal.wait_chosen("plain");
    terminal.press("c");
    terminal.wait_for("same 2, changed 0, only A 2, only B 0, moved 0");
    terminal.press(ENTER);
    terminal.wait_for("3 of 4");
    terminal.press(".");
    terminal.wait_for("Actions:");
    terminal.press("metrics\r");
    terminal.wait_for("> loss");
    terminal.wait_for("step 1 to 4");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().code, 0);
}

#[test]
fn a_task_is_shared_as_a_file_after_its_plan() {
    let place = place();
    let mut terminal = Terminal::of(&place, "tui essay", USUAL);
    terminal.wait_for("4 of 4");
    let share = |terminal: &mut Terminal, path: &str| {
        terminal.press("S");
        terminal.wait_for("essay.html");
        terminal.press(&format!("\u{15}{path}\r"));
    };
    let path = place.path("sent.html");
    let path = path.to_str().unwrap();
    share(&mut terminal, path);
    terminal.wait_for("nothing is withheld");
    terminal.press(ENTER);
    terminal.wait_for("nothing was changed");
    assert!(!place.path("sent.html").exists());
    share(&mut terminal, path);
    terminal.wait_for("[No] n");
    terminal.press("y");
    terminal.wait_for("shared as");
    share(&mut terminal, path);
    terminal.wait_for("is there already");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().code, 0);
    assert!(place.say("import sent.html --as back").ok().contains("back"));
}

#[test]
fn an_undo_through_a_service_has_its_plan_too() {
    let place = place();
    place.say("restore essay@10").ok();
    let serving = Serving::of(&place);
    let line = format!("tui essay --server {}", serving.url);
    let mut terminal = Terminal::of(&place, &line, WIDE);
    terminal.wait_for("2 of 2");
    terminal.press("u");
    terminal.wait_for("It goes to essay/0@");
    terminal.wait_for("of the state. Lineage 1 stays");
    terminal.press("y");
    terminal.wait_for("lineage 0 is active");
    terminal.press("u");
    terminal.wait_for("has no restore to undo");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().code, 0);
}

#[test]
fn the_screen_follows_the_size_and_the_terminal_is_given_back_at_a_signal() {
    let place = place();
    let mut terminal = Terminal::of(&place, "tui essay", USUAL);
    terminal.wait_for("4 of 4");
    assert!(!terminal.text().contains("State 2"));
    terminal.resize(150, 40);
    terminal.wait("three panes", |screen| {
        screen.contains("State 2") && screen.contains("│ Changes") && screen.lines().count() == 40
    });
    terminal.resize(40, 10);
    terminal.wait("one pane", |screen| screen.lines().count() == 10 && !screen.contains("State 2"));
    terminal.signal("TERM");
    let ended = terminal.ended();
    assert_ne!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.text, "");
    for size in [(20, 4), (2, 1), (1, 1)] {
        let mut terminal = Terminal::of(&place, "tui essay", size);
        terminal.wait("something", |screen| !screen.trim().is_empty());
        terminal.press(CTRL_C);
        assert_eq!(terminal.ended().code, 0, "{size:?}");
    }
}

#[test]
fn a_long_task_opens_at_its_head_and_its_beginning() {
    let place = Place::new();
    place.write("run.jsonl", steps(5000, &[4321]));
    place.say("record --task long --user ana run.jsonl").ok();
    let mut terminal = Terminal::of(&place, "tui long", USUAL);
    terminal.wait_for("5000 of 5000");
    terminal.press("g");
    terminal.wait_for("cat 1.md");
    terminal.press("e");
    terminal.wait_for("4321 of 5000");
    terminal.press("e");
    terminal.wait_for("no more: a failure");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().text, "long/0@30241");
}

/// The numbers of requests that a service answered, by route.
fn requests(serving: &Serving) -> Vec<(String, u64)> {
    let host = serving.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let lines = answer.lines().filter_map(|line| line.strip_prefix("milepost_http_requests_total"));
    let count = |line: &str| {
        let (labels, count) = line.rsplit_once(' ').unwrap();
        (labels.split('"').nth(1).unwrap().to_owned(), count.parse().unwrap())
    };
    lines.map(count).collect()
}

#[test]
fn of_a_long_task_only_the_pages_on_the_screen_are_asked_for() {
    let place = Place::new();
    place.write("run.jsonl", steps(5000, &[]));
    place.say("record --task long --user ana run.jsonl").ok();
    let serving = Serving::of(&place);
    let line = format!("tui long --server {}", serving.url);
    let mut terminal = Terminal::of(&place, &line, USUAL);
    terminal.wait_for("5000 of 5000");
    terminal.wait_for("cat 5000.md");
    terminal.press("g");
    terminal.wait_for("cat 1.md");
    terminal.press("Y");
    terminal.wait_for(&format!("copied: {}/#/task/long/0@1", serving.url));
    let all = requests(&serving);
    let of = |end: &str| -> u64 {
        all.iter().filter(|(route, _)| route.ends_with(end)).map(|(_, count)| count).sum()
    };
    // The whole list has 50 pages of turns, and 350 of events.
    assert!(of("/turns") > 0 && of("/turns") < 25, "{all:?}");
    assert!(of("/rows") + of("/events") < 10, "{all:?}");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended().code, 0);
}

#[test]
fn without_a_terminal_it_says_what_prints_events() {
    let place = place();
    for line in ["tui", "tui essay", "tui --json"] {
        place.say(line).failed(1, "needs a terminal");
    }
    assert!(place.say("tui").err.contains("`milepost log TASK`"));
    let ended = Terminal::of(&place, "tui nowhere", USUAL).ended();
    assert!(ended.code == 1 && ended.text.contains("nowhere"), "{ended:?}");
}
