//! `run`: a command with its output, its end and its changes to the folder.

mod ended;
mod store;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::common::{Place, Ran, number, text};

/// The command under test, for commands that call it.
const MILEPOST: &str = env!("CARGO_BIN_EXE_milepost");

/// A store with the task `essay`, and a folder `work` with a few files.
fn place() -> Place {
    let place = Place::new();
    place.write("run.jsonl", "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"go\"}\n");
    place.say("record --task essay --user ada run.jsonl").ok();
    fs::create_dir(place.path("work")).unwrap();
    place.write("work/draft.md", "one\n");
    place.write("work/gone.txt", "bye");
    place
}

/// A script as the command, in `work`, with these options in front. Signals that the
/// parent of the tests ignores (as a shell does for its background jobs) are not ignored here.
fn script(place: &Place, options: &str, script: &str) -> Command {
    let mut args = vec!["--default-signal", MILEPOST, "run", "--task", "essay"];
    args.extend(["--dir", "work"]);
    args.extend(options.split_whitespace());
    args.extend(["--", "sh", "-c", script]);
    place.command_of("env", args)
}

fn ran(place: &Place, options: &str, text: &str) -> Output {
    script(place, options, text).output().unwrap()
}

/// Returns the call recorded last, and its result.
#[track_caller]
fn recorded(place: &Place) -> (Value, Value) {
    let log = place.lines("log essay");
    let last = |kind: &str| {
        let event = log.iter().rev().find(|event| event["kind"] == kind);
        event.map(|event| event["body"].clone()).unwrap_or_default()
    };
    let (call, returned) = (last("tool_called"), last("tool_returned"));
    assert_eq!(call["call"], returned["call"], "{call} {returned}");
    assert_eq!((&call["tool"], &returned["tool"]), (&json!("command"), &json!("command")));
    (call, returned)
}

/// Returns the recorded output of one stream.
fn printed(returned: &Value, stream: &str) -> Vec<u8> {
    let pieces = returned["output"]["output"].as_array().unwrap().iter();
    let of = |piece: &Value| match &piece[stream] {
        Value::String(text) => text.clone().into_bytes(),
        other => other["base64"]
            .as_str()
            .map_or_else(Vec::new, |text| data_encoding::BASE64.decode(text.as_bytes()).unwrap()),
    };
    pieces.flat_map(of).collect()
}

/// The kinds of the events of the task, from the first one about a run.
fn kinds(place: &Place) -> Vec<String> {
    let log = place.lines("log essay");
    let kinds = log.iter().map(|event| text(event, "kind").to_owned());
    kinds.skip(3).collect()
}

#[test]
fn output_goes_through_byte_by_byte_and_is_recorded_though_it_is_no_utf_8() {
    let place = place();
    let done = ran(
        &place,
        "",
        r"printf 'one\n\377two'; printf 'e\303\251\000\376\n' >&2; printf ' three'",
    );
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(done.stdout, b"one\n\xfftwo three");
    assert!(done.stderr.starts_with(b"e\xc3\xa9\0\xfe\nmilepost: exit code 0, "));
    let (call, returned) = recorded(&place);
    assert_eq!(call["arguments"]["argv"][1], "-c");
    assert!(text(&call["arguments"], "dir").ends_with("/work"), "{call}");
    assert_eq!(call["arguments"]["lossy"], Value::Null);
    assert_eq!(returned["ok"], true);
    assert_eq!(printed(&returned, "stdout"), b"one\n\xfftwo three");
    assert_eq!(printed(&returned, "stderr"), b"e\xc3\xa9\0\xfe\n");
    let output = &returned["output"];
    assert_eq!((&output["bytes"], &output["left_out"]), (&json!(20), &Value::Null));
    // The text can be read where it is shown, and all of it is in the event itself.
    let shown = place.say("show essay@6").ok();
    assert!(shown.contains("    exit 0\n    one\n    … bytes that are no text …two"), "{shown}");
    assert!(place.say("show essay@6 --raw").ok().contains("base64"));
}

#[test]
fn of_much_output_the_first_half_and_the_last_half_are_kept() {
    let place = place();
    let text = "printf begin; head -c 3000000 /dev/zero | tr '\\0' x; printf end";
    let done = ran(&place, "--output-max 1001", text);
    assert_eq!(done.stdout.len(), 3_000_008);
    let (_, returned) = recorded(&place);
    let output = &returned["output"];
    assert_eq!(output["bytes"], 3_000_008);
    assert_eq!(output["left_out"], 3_000_008 - 1001);
    let (head, tail) = (format!("begin{}", "x".repeat(496)), format!("{}end", "x".repeat(497)));
    assert_eq!(
        output["output"],
        json!([{"stdout": head}, {"left_out": 2_999_007}, {"stdout": tail}])
    );
    assert_eq!(ran(&place, "--output-max 9000000", "exit 0").status.code(), Some(2));
}

#[test]
fn what_changed_is_told_and_a_rollback_to_before_brings_the_files_back() {
    let place = place();
    let edit =
        "echo two >> draft.md; rm gone.txt; mkdir new; echo a > new/a; echo bb > new/b; exit 3";
    let done = Ran::of(ran(&place, "--label edit", edit));
    assert_eq!((done.code, done.out.as_str()), (3, ""));
    let lines: Vec<&str> = done.err.lines().collect();
    assert_eq!(lines.len(), 2, "{done:?}");
    assert!(lines[0].starts_with("milepost: exit code 3, "), "{done:?}");
    assert!(lines[0].ends_with("; 2 created, 1 changed, 1 deleted, 1 folder"), "{done:?}");
    assert_eq!(
        lines[1],
        "milepost: before essay/0@4, after essay/0@8; `milepost rollback essay/0@4` goes back"
    );
    assert_eq!(
        kinds(&place),
        [
            "workspace_captured",
            "checkpoint_marked",
            "tool_called",
            "tool_returned",
            "workspace_captured",
            "checkpoint_marked"
        ]
    );
    let marks = place.items("checkpoints essay");
    let said = |at: usize| {
        (text(&marks[at], "label"), text(&marks[at], "cause"), text(&marks[at], "status"))
    };
    assert_eq!(said(0), ("after-edit", "step", "failure"));
    assert_eq!(said(1), ("before-edit", "before_tool", "success"));
    assert_eq!(marks[0]["metadata"]["exit"], 3);
    let diff = place.json("diff essay@before-edit essay@after-edit --files");
    assert_eq!(diff.as_array().unwrap().len(), 5, "{diff}");

    place.say("rollback essay/0@4").ok();
    assert_eq!(fs::read(place.path("work/draft.md")).unwrap(), b"one\n");
    assert_eq!(fs::read(place.path("work/gone.txt")).unwrap(), b"bye");
    assert!(!place.path("work/new").exists());
    assert_eq!(place.json("state essay")["finished_calls"], 0);
    place.say("undo essay").ok();
    assert!(place.path("work/new/b").exists());
    place.say("verify").ok();
}

#[test]
fn one_that_changes_nothing_says_so_and_has_both_checkpoints() {
    let place = place();
    let done = Ran::of(ran(&place, "", "cat draft.md"));
    assert_eq!(done.out, "one\n");
    assert!(done.err.contains("; nothing changed in the folder\n"), "{done:?}");
    assert_eq!(place.ids("checkpoints essay").len(), 1 + 2);
    let done = Ran::of(ran(&place, "", "mkdir empty"));
    assert!(done.err.contains("; 0 created, 0 changed, 0 deleted, 1 folder\n"), "{done:?}");
    let done = Ran::of(ran(&place, "", "mv draft.md final.md"));
    assert!(done.err.contains("; 0 created, 0 changed, 0 deleted, 1 renamed\n"), "{done:?}");
}

#[test]
fn for_programs_standard_output_has_the_report_and_nothing_else() {
    let place = place();
    let done = Ran::of(ran(&place, "--json", "echo out; echo err >&2; echo more > more"));
    assert_eq!(done.code, 0);
    assert!(done.err == "out\nerr\n" || done.err == "err\nout\n", "{done:?}");
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&report["task"], &report["exit"]), (&json!("essay"), &json!(0)));
    assert_eq!((&report["run"], &report["recorded"]), (&json!(true), &json!(true)));
    assert_eq!((&report["signal"], &report["timed_out"]), (&Value::Null, &json!(false)));
    assert_eq!(number(&report, "bytes"), 8);
    number(&report, "ms");
    assert_eq!(
        report["changes"],
        json!({
            "created": 1, "changed": 0, "deleted": 0, "renamed": 0, "left_out": 0,
            "folders": 0,
        })
    );
    let ids = place.ids("checkpoints essay");
    assert_eq!(report["after"]["checkpoint"], ids[0]);
    assert_eq!(report["before"]["checkpoint"], ids[1]);
    assert_eq!(report["before"]["address"], "essay/0@4");
    assert_ne!(report["before"]["root"], report["after"]["root"]);
    let (call, returned) = recorded(&place);
    assert_eq!(call["call"], report["call"]);
    assert_eq!(printed(&returned, "stdout"), b"out\n");
    assert_eq!(printed(&returned, "stderr"), b"err\n");
}

#[test]
fn without_files_the_command_is_recorded_and_the_folder_is_left_out() {
    let place = place();
    let done = Ran::of(ran(&place, "--no-files", "pwd; echo x > new"));
    assert!(done.out.ends_with("/work\n"), "{done:?}");
    assert!(done.err.ends_with("`milepost restore essay/0@3` goes back\n"), "{done:?}");
    assert!(!done.err.contains("created"), "{done:?}");
    let expected = ["checkpoint_marked", "tool_called", "tool_returned", "checkpoint_marked"];
    assert_eq!(kinds(&place), expected);
    let twice = ran(&place, "--no-files --anyway", "exit 0");
    assert_eq!(twice.status.code(), Some(2));
}

#[test]
fn words_behind_the_command_are_its_own_and_one_that_is_no_utf_8_is_told_as_such() {
    let place = place();
    let out =
        place.run(["run", "--task", "essay", "--dir", "work", "echo", "--json", "--dir", "-x"]);
    assert_eq!(out.out, "--json --dir -x\n");
    let odd = OsStr::from_bytes(b"a\xffb");
    let words = ["run", "--task", "essay", "--dir", "work", "--", "printf", "%s"].map(OsStr::new);
    let out = place.command(words.into_iter().chain([odd])).output().unwrap();
    assert_eq!(out.stdout, b"a\xffb");
    let (call, _) = recorded(&place);
    assert_eq!(call["arguments"]["argv"], json!(["printf", "%s", "a\u{fffd}b"]));
    assert_eq!(call["arguments"]["lossy"], true);
    assert_eq!(place.say("run --task essay --bogus true").code, 2);
    assert_eq!(place.say("run --task essay").code, 2);
    assert_eq!(place.say("run --task essay --timeout 5 true").code, 2);
}

#[test]
fn the_command_gets_standard_input() {
    use std::io::Write;
    let place = place();
    let mut command = script(&place, "", "cat; cat draft.md");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"zero\n").unwrap();
    assert_eq!(Ran::of(child.wait_with_output().unwrap()).out, "zero\none\n");
}

#[test]
fn where_the_folder_cannot_be_captured_nothing_is_run_or_recorded() {
    let place = place();
    let before = place.lines("log essay");
    let witness = place.path("witness");
    let text = format!("touch {}", witness.display());
    let run = |change: &dyn Fn(&mut Command)| {
        let mut command = script(&place, "", &text);
        change(&mut command);
        Ran::of(command.output().unwrap())
    };
    let at_home = run(&|command| {
        command.env("HOME", place.path("work"));
    });
    at_home.failed(1, "it is your home");
    assert!(at_home.err.contains("--anyway"), "{at_home:?}");
    let touch = ["touch", witness.to_str().unwrap()];
    let of = |options: &str| place.run(options.split(' ').chain(touch));
    of("run --task essay --dir nowhere").failed(1, "nowhere");
    of("run --task essay --no-files --dir nowhere").failed(1, "nowhere");
    of("run --task essay --no-files --dir run.jsonl").failed(1, "is no folder");
    of("run --task essay --dir .milepost").failed(1, "inside the store");

    // A hook that refuses.
    let hooks = place.path("config/milepost/hooks.json");
    fs::create_dir_all(hooks.parent().unwrap()).unwrap();
    let refusing =
        json!({"on": ["before_checkpoint"], "run": ["sh", "-c", "exit 1"], "veto": true});
    fs::write(&hooks, json!({"hooks": [refusing]}).to_string()).unwrap();
    fs::set_permissions(&hooks, fs::Permissions::from_mode(0o600)).unwrap();
    of("run --task essay --dir work").failed(1, "");
    assert!(!witness.exists());
    assert_eq!(place.lines("log essay"), before);
}

#[test]
fn a_command_gets_no_token_and_no_key_unless_it_is_asked_for_and_neither_is_recorded() {
    let place = Place::new();
    let key = place.path("key");
    place.run(["key".as_ref(), key.as_os_str()]).ok();
    let key = fs::read_to_string(key).unwrap();
    let token = "mp_01234567_secret";
    let keyed = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("MILEPOST_KEY", key.trim()).env("MILEPOST_TOKEN", token);
        Ran::of(command.output().unwrap())
    };
    place.write("r.jsonl", r#"{"kind":"message","role":"user","content":"go"}"#);
    keyed(&["record", "--task", "t", "r.jsonl"]).ok();
    let ran = keyed(&["run", "--task", "t", "--no-files", "--", "env"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.out.contains("MILEPOST_TOKEN") && !ran.out.contains("MILEPOST_KEY="), "{ran:?}");
    let ran = keyed(&["run", "--task", "t", "--no-files", "--pass-key", "--", "env"]);
    assert!(ran.out.contains(key.trim()) && !ran.out.contains(token), "{ran:?}");
    // In an argument and through a command that knows it from elsewhere.
    let script = format!("printf mp_0123; printf 4567_secret; echo {token} >&2");
    keyed(&["run", "--task", "t", "--no-files", "--", "sh", "-c", &script]);
    let log = keyed(&["log", "t", "--json"]).ok();
    assert!(log.contains("[secret]"), "{log}");
    assert!(!log.contains(token) && !log.contains(key.trim()), "{log}");
    let shown = keyed(&["export", "t"]).ok();
    assert!(!shown.contains(token) && !shown.contains(key.trim()), "{shown}");
}

#[test]
fn what_was_made_outside_of_any_run_goes_with_a_rollback_only_where_that_is_said() {
    let place = place();
    place.say("capture work --task essay --label good").ok();
    // By hand: a file, and an edit.
    place.write("work/thesis.md", "by hand");
    place.write("work/gone.txt", "edited by hand");
    let wrote = ran(&place, "", "echo bad > draft.md; echo x > by_the_agent");
    assert!(wrote.status.success(), "{wrote:?}");
    let back = place.say("rollback essay@good");
    assert_ne!(back.code, 0, "{back:?}");
    for path in ["thesis.md", "gone.txt"] {
        let line = format!("! {path}  it was made or changed outside of any run");
        assert!(back.out.contains(&line), "{back:?}");
    }
    assert!(back.out.contains("- by_the_agent"), "{back:?}");
    let chosen = "rollback essay@good --keep-mine thesis.md --theirs gone.txt";
    assert_eq!(place.say(chosen).code, 0);
    let read = |name: &str| fs::read_to_string(place.path("work").join(name)).ok();
    assert_eq!(read("thesis.md").as_deref(), Some("by hand"));
    assert_eq!(read("gone.txt").as_deref(), Some("bye"));
    assert_eq!(read("draft.md").as_deref(), Some("one\n"));
    assert_eq!(read("by_the_agent"), None);
    // The undo asks nothing: what it brings back was there.
    assert_eq!(place.say("undo essay").code, 0);
    assert_eq!(read("by_the_agent").as_deref(), Some("x\n"));
}
