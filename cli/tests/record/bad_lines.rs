//! Lines that are no events: which ones are printed, and where a recording ends.

use std::process::Stdio;

use super::*;

#[test]
fn a_mistyped_kind_is_refused_with_the_nearest_one_and_the_way_out() {
    let place = Place::new();
    let typo = "{\"kind\":\"messag\",\"role\":\"user\",\"content\":\"hello\"}\n";
    place.write("typo.jsonl", format!("{HELLO}{typo}{HELLO}"));
    let ran = place.say("record typo.jsonl");
    assert_eq!(ran.code, 1);
    let why = "typo.jsonl:2: events have no kind `messag`; did you mean `message`?";
    assert!(ran.err.contains(why), "{}", ran.err);
    assert!(ran.err.contains("error: 1 line could not be recorded"), "{}", ran.err);
    assert!(ran.err.contains("--allow-unknown"), "{}", ran.err);
    assert_eq!(place.lines("log typo").len(), 4, "opened, two messages, a mark");
    for command in ["record --task all", "import --as copy"] {
        place.say(&format!("{command} --allow-unknown typo.jsonl")).ok();
        let task = command.rsplit(' ').next().unwrap();
        let events = place.lines(&format!("log {task}"));
        assert_eq!(events[2]["kind"], "application");
        assert_eq!(events[2]["body"]["name"], "messag");
        let data: Value = serde_json::from_str(typo).unwrap();
        assert_eq!(events[2]["body"]["data"], data);
    }
}

#[test]
fn a_bad_line_is_quoted_and_has_one_number() {
    let place = Place::new();
    let long = "this is the text of a page, which is no event at all";
    place.write("bad.jsonl", format!("{HELLO}{long}\n"));
    let ran = place.say("record bad.jsonl");
    assert_eq!(ran.code, 1);
    let report = ran.err.lines().next().unwrap();
    assert_eq!(
        report,
        "bad.jsonl:2: not a JSON object: a word that is not `null`, `true` or `false` at \
         column 2: `this is the text of a page, which is no …`"
    );
}

/// The lines on standard error that begin with a place in the input.
fn reports(ran: &Ran, name: &str) -> usize {
    ran.err.lines().filter(|line| line.starts_with(&format!("{name}:"))).count()
}

#[test]
fn an_input_that_begins_with_twenty_bad_lines_is_no_json_lines() {
    let place = Place::new();
    place.write("page.txt", "y\n".repeat(1000));
    let bytes: Vec<u8> =
        (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    place.write("program", bytes);
    for name in ["page.txt", "program"] {
        let ran = place.say(&format!("record {name}"));
        let why = format!("{name}: none of the first 20 lines is an event: this is no JSON Lines");
        ran.failed(1, &why);
        assert_eq!(reports(&ran, name), 1, "{}", ran.err);
        assert!(ran.err.contains("hint: give one event an object a line"), "{}", ran.err);
    }
    assert!(place.ids("tasks").is_empty());
    // A stream without an end is left after these lines.
    let mut yes = place.command_of("yes", ["y"]).stdout(Stdio::piped()).spawn().unwrap();
    let from_yes = yes.stdout.take().unwrap();
    let ran = Ran::of(place.command(["record", "-"]).stdin(from_yes).output().unwrap());
    ran.failed(1, "standard input: none of the first 20 lines is an event");
    yes.wait().unwrap();
    // Nineteen of them are an accident.
    place.write("late.jsonl", format!("{}{HELLO}", "y\n".repeat(19)));
    let ran = place.say("record late.jsonl");
    assert_eq!((ran.code, reports(&ran, "late.jsonl")), (1, 19), "{}", ran.err);
    assert_eq!(place.lines("log late").len(), 3);
    // Kinds of another program.
    place.write("other.jsonl", "{\"kind\":\"tea_break\"}\n".repeat(30));
    place.say("record other.jsonl").failed(1, "--allow-unknown");
    place.say("record --allow-unknown other.jsonl").ok();
}

#[test]
fn at_most_twenty_bad_lines_are_printed_and_the_others_counted() {
    let place = Place::new();
    place.write("mixed.jsonl", format!("{HELLO}{}", format!("nope\n{HELLO}").repeat(50)));
    let ran = place.say("record mixed.jsonl");
    assert_eq!((ran.code, reports(&ran, "mixed.jsonl")), (1, 20), "{}", ran.err);
    assert!(ran.err.contains("30 more of these are not printed"), "{}", ran.err);
    assert!(ran.err.contains("error: 50 lines could not be recorded"), "{}", ran.err);
    assert_eq!(place.lines("log mixed").len(), 53, "opened, 51 messages, a mark");
}
