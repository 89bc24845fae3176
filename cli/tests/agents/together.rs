//! Two agents at once in one folder, one of them with a sub-agent.

use milepost_agent_tests::{Agent, AgentHome};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::{home, kinds, log, of_kind, rewound};

/// Sessions of the two agents, and their tasks.
struct Two {
    claude: AgentHome,
    codex: AgentHome,
    /// The tasks of Claude Code, of its sub-agent, and of Codex.
    tasks: [String; 3],
}

/// Runs both. Their calls wait for each other at pipes: each is open while the other one is.
///
/// Claude Code makes `own.txt`, then `a.txt` by a sub-agent; Codex makes `b.txt`.
fn at_once() -> Option<Two> {
    let claude = home(Agent::ClaudeCode)?;
    let codex = claude.with_another(Agent::Codex)?;
    claude.record_hooks();
    codex.install_hooks();
    let [ready, to, from] = ["ready", "to", "from"].map(|name| {
        let path = claude.path("tmp").join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        path.display().to_string()
    });
    let call = format!("echo 1 > {ready}; echo 1 > {to}; cat {from}; echo a > a.txt");
    let prompt = format!(
        "first [[shell echo own > own.txt]] [[task do: {{{{shell {call}}}}} {{{{say helped}}}}]] \
         [[shell cat {ready}]] [[say both done]]"
    );
    let first = claude.start(claude.command(None, &prompt));
    // The call of the sub-agent is open, and the turn of the main agent is over.
    let has_ended_its_turn = || kinds(&claude).iter().any(|kind| kind == "turn ended");
    assert!(claude.until(has_ended_its_turn), "{:#?}", first.wait());
    let prompt = format!("other [[shell cat {to}; echo b > b.txt; echo 1 > {from}]] [[say there]]");
    codex.prompt(&prompt).ok();
    first.wait().ok();
    let tasks: Value =
        serde_json::from_str(&claude.milepost(&["tasks", "--json"]).ok().out).unwrap();
    let ids = tasks["items"].as_array().unwrap().iter();
    let mut ids: Vec<_> = ids.map(|task| task["id"].as_str().unwrap().to_owned()).collect();
    ids.sort_by_key(|id| {
        let log = log(&claude, id);
        match log.iter().find(|event| event["body"]["name"] == "agent_session") {
            Some(event) if event["body"]["data"]["agent"] == "claude-code" => 0,
            Some(_) => 2,
            None => 1,
        }
    });
    let tasks = ids.try_into().unwrap_or_else(|ids| panic!("{ids:?}"));
    Some(Two { claude, codex, tasks })
}

/// The marks of captures around the calls of the agent or of its sub-agent: when they are, and
/// whether they are shared.
fn marks(log: &[Value], is_main: bool) -> Vec<(&str, bool)> {
    let marks = of_kind(log, "checkpoint_marked").into_iter();
    let of_actor = marks
        .filter(|mark| mark["correlation"].is_string() && (mark["actor"] == "agent") == is_main);
    let mark = |mark: &Value| {
        let is_before = mark["body"]["cause"] == "before_tool";
        let is_shared = mark["body"]["metadata"]["shared"] == true;
        (if is_before { "before" } else { "after" }, is_shared)
    };
    of_actor.map(mark).collect()
}

#[test]
fn sessions_at_once_are_whole_and_calls_that_overlap_are_marked() {
    let Some(Two { claude, tasks, .. }) = at_once() else { return };
    let [main, sub_agent, other] = tasks.map(|task| log(&claude, &task));
    let alone = [("before", false), ("after", false)];
    assert_eq!(marks(&main, true), [alone; 3].concat());
    // When it began, the other agent did not run.
    assert_eq!(marks(&main, false), [("before", false), ("after", true)]);
    assert_eq!(marks(&other, true), [("before", true), ("after", true)]);
    let is_captured = sub_agent.iter().any(|event| event["kind"] == "workspace_captured");
    assert!(!is_captured, "files are in the task of the session");
    for (log, calls, text) in
        [(&main, 3, "both done"), (&sub_agent, 1, "helped"), (&other, 1, "there")]
    {
        let ids = |kind| -> Vec<_> {
            of_kind(log, kind).into_iter().map(|event| event["body"]["call"].clone()).collect()
        };
        assert_eq!(ids("tool_called").len(), calls);
        assert_eq!(ids("tool_called"), ids("tool_returned"));
        let says = |event: &&Value| event["body"]["content"].to_string().contains(text);
        assert!(of_kind(log, "message").iter().any(says), "{text}");
    }
}

#[test]
fn a_rewind_of_one_session_asks_about_the_files_of_another() {
    let Some(Two { claude, codex, tasks }) = at_once() else { return };
    let place = |task: usize| format!("{}@prompt-1", tasks[task]);
    let files = codex.files("");
    assert_eq!(files.keys().collect::<Vec<_>>(), ["a.txt", "b.txt", "own.txt"]);
    let said = codex.milepost(&["rewind", &place(2), "--dry-run"]).ok().out;
    assert!(said.contains("--theirs a.txt") && !said.contains("as they were then"), "{said}");
    // Each path's author is one of the two, which one is unknown.
    let done = rewound(&codex, &[&place(2)]);
    assert_eq!(done["stay"], serde_json::json!(["a.txt", "b.txt"]), "{done:#}");
    assert_eq!(codex.files(""), files);
    // Each is told with the session that it may be of, and the option that takes it.
    assert_eq!(done["at_the_same_time"], serde_json::json!([tasks[0]]), "{done:#}");
    let done = rewound(&claude, &[&place(0), "--theirs", "a.txt"]);
    assert_eq!(done["stay"], serde_json::json!(["b.txt"]), "{done:#}");
    assert_eq!(claude.files("").keys().collect::<Vec<_>>(), ["b.txt"]);
    claude.milepost(&["undo", &tasks[0]]).ok();
    assert_eq!(claude.files(""), files);
}

/// A tool that names its file runs while a command of another session does: each session restores
/// its own files, byte for byte.
#[test]
fn a_file_that_a_tool_names_goes_back_though_another_session_ran_at_once() {
    let Some(claude) = home(Agent::ClaudeCode) else { return };
    let Some(codex) = claude.with_another(Agent::Codex) else { return };
    claude.record_hooks();
    codex.install_hooks();
    let [begun, end] = ["begun", "end"].map(|name| claude.path("tmp").join(name));
    let call = format!(
        "echo c > c.txt; touch {}; until [ -e {} ]; do sleep 0.01; done",
        begun.display(),
        end.display()
    );
    let other = codex.start(codex.command(None, &format!("[[shell {call}]] [[say there]]")));
    assert!(claude.until(|| begun.exists()));
    claude.prompt("[[write own.txt roses]] [[say done]]").ok();
    std::fs::write(&end, "").unwrap();
    other.wait().ok();
    let names = || claude.files("").into_keys().collect::<Vec<_>>();
    assert_eq!(names(), ["c.txt", "own.txt"]);
    let tasks = claude.milepost(&["tasks", "--json"]).ok().out;
    let tasks: Value = serde_json::from_str(&tasks).unwrap();
    let ids = tasks["items"].as_array().unwrap().iter();
    let ids: Vec<_> = ids.map(|task| task["id"].as_str().unwrap().to_owned()).collect();
    let is_of_claude = |id: &&String| {
        let log = log(&claude, id);
        log.iter().any(|event| event["body"]["data"]["agent"] == "claude-code")
    };
    let (of_claude, of_codex): (Vec<_>, Vec<_>) = ids.iter().partition(is_of_claude);
    let done = rewound(&claude, &[&format!("{}~1", of_claude[0]), "--files-only"]);
    assert_eq!((names(), &done["stay"]), (vec!["c.txt".to_owned()], &serde_json::json!([])));
    claude.milepost(&["undo", of_claude[0]]).ok();
    let done = rewound(&codex, &[&format!("{}~1", of_codex[0]), "--files-only"]);
    assert_eq!((names(), &done["stay"]), (vec!["own.txt".to_owned()], &serde_json::json!([])));
}
