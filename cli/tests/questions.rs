//! Questions on a terminal: each follows the plan that it is about.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::common::Place;
use crate::common::terminal::{ENTER, Terminal};

const USUAL: (u16, u16) = (120, 40);

/// The sources that ask, each with the scenes below that are for it.
const ASKS: [&str; 8] = [
    "cleanup.rs",
    "delete.rs",
    "erase.rs",
    "rewind/mod.rs",
    "rewind/print.rs",
    "rewind/route.rs",
    "share.rs",
    "trust.rs",
];

/// Asks, and answers with no. The plan is above the question, and nothing is done.
#[track_caller]
fn refused(place: &Place, line: &str, plan: &str, question: &str) {
    let mut terminal = Terminal::of(place, line, USUAL);
    let screen = terminal.wait_for(question);
    let at = screen.find(question).unwrap();
    assert!(screen[..at].contains(plan), "the question is before {plan:?}:\n{screen}");
    terminal.press("n");
    terminal.press(ENTER);
    let ended = terminal.ended();
    assert_eq!(ended.code, 1, "{}", ended.text);
    assert!(ended.text.contains("nothing was changed"), "{}", ended.text);
    assert_eq!(ended.text.matches(plan).count(), screen[..at].matches(plan).count());
}

#[test]
fn a_question_comes_after_its_plan_on_a_terminal() {
    let place = Place::recorded();
    place.say("mark run@7 one").ok();
    place.say("mark run@9 two").ok();
    refused(&place, "cleanup --keep 1", "would go", "Clean up? [y/N]");
    refused(&place, "delete run", "`milepost compact` takes it off the disk", "Delete task `run`");
    refused(&place, "erase run@4", "its kind, time, actor and key stay", "Erase event run/0@4");
    let line = "share run -o run.html --no-redact";
    refused(&place, line, "All texts of task `run`", "Share it without redaction? [y/N]");
    let hook = json!({"on": ["after_checkpoint"], "run": ["sh", "-c", "echo foreign"]});
    fs::write(place.store().join("hooks.json"), json!({"hooks": [hook]}).to_string()).unwrap();
    refused(&place, "trust", "echo foreign", "Trust this store? [y/N]");
}

/// A project with a session of two prompts. Others changed a file that the agent changed, too.
fn session() -> Place {
    let (place, home) = (Place::new(), tempfile::tempdir().unwrap());
    let project = place.dir.path().canonicalize().unwrap();
    let file = home.path().join(".claude/projects/p/s1.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    place.write(".gitignore", "data\nstate\nconfig\n");
    let of = |line: &str| {
        let mut command = place.command(line.split(' '));
        command.env("HOME", home.path()).env("XDG_STATE_HOME", place.path("state"));
        command.env("CLAUDE_PROJECT_DIR", &project);
        command
    };
    assert!(of("init --outside").status().unwrap().success());
    let projects = place.path("data/milepost/projects");
    let store = fs::read_dir(projects).unwrap().next().unwrap().unwrap().path().join("store");
    let mut daemon = of("agent serve").spawn().unwrap();
    while UnixStream::connect(store.join("server/socket")).is_err() {
        std::thread::yield_now();
    }
    let hook = |event: &str, more: serde_json::Value| {
        let mut document = json!({"session_id": "s1", "hook_event_name": event, "cwd": project,
            "transcript_path": file});
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut child = of("agent hook claude-code").stdin(Stdio::piped()).spawn().unwrap();
        serde_json::to_writer(child.stdin.take().unwrap(), &document).unwrap();
        assert!(child.wait().unwrap().success());
    };
    hook("SessionStart", json!({"source": "startup"}));
    for prompt in ["write one", "write two"] {
        hook("UserPromptSubmit", json!({"prompt": prompt}));
        let call = json!({"tool_name": "Bash", "tool_input": {"command": prompt},
            "tool_use_id": prompt});
        hook("PreToolUse", call.clone());
        place.write("a.txt", prompt);
        place.write("b.txt", prompt);
        hook("PostToolUse", call);
        hook("Stop", json!({}));
    }
    let pid = daemon.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    daemon.wait().unwrap();
    place
}

#[test]
fn a_rewind_asks_after_its_plan_and_its_list() {
    let place = session();
    refused(&place, "rewind ~1 --files-only", "a.txt", "Go back? [y/N]");
    let mut terminal = Terminal::of(&place, "rewind", USUAL);
    let screen = terminal.wait_for("Back to before which prompt?");
    assert!(screen.find("prompt-1").unwrap() < screen.find("Back to").unwrap(), "{screen}");
    terminal.press(ENTER);
    assert_eq!(terminal.ended().code, 0);
}

/// Every call of a function that asks is in a source that a scene above is for, and no other
/// source reads an answer.
#[test]
fn no_command_asks_by_itself() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands");
    let mut asking = BTreeSet::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
            // The child of the demo reads the steps that its parent writes.
            } else if !["confirm.rs", "demo/child.rs"].contains(&name.as_str()) {
                let text = fs::read_to_string(&path).unwrap();
                assert!(!text.contains("read_line("), "{name} reads an answer: see confirm.rs");
                let calls = [" confirm(", "(confirm(", " agrees(", " asked(\"", "asks_to_take("];
                if calls.iter().any(|call| text.contains(call)) {
                    asking.insert(name);
                }
            }
        }
    }
    assert_eq!(asking.into_iter().collect::<Vec<_>>(), ASKS);
}
