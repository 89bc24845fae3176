//! Hooks of sessions: their events, in order, with their ids.

use std::collections::BTreeMap;

use milepost_agent_tests::{Agent, AgentHome};
use milepost_agents::documents::AgentEventKind;

use crate::{home, kinds, session};

const PROMPT: &str = "please [[say a poem]] [[write poem.txt roses are red]] \
                      [[shell sed -i s/alpha/ALPHA/ data.txt; echo new > new.txt]] [[say all done]]";

/// Runs a session with two tools and then a second prompt, and compares the events.
fn arrives_in_order(agent: Agent, write: &str, shell: &str) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    home.write("data.txt", "alpha beta\n");
    let run = home.prompt(PROMPT).ok();
    assert!(run.out.contains("all done"), "{run:#?}");
    let texts = ["poem.txt", "data.txt", "new.txt"].map(|name| home.text(name).unwrap());
    assert_eq!(
        texts.map(|text| text.trim_end().to_owned()),
        ["roses are red", "ALPHA beta", "new"]
    );
    let first = [
        "started: startup".to_owned(),
        "prompt".to_owned(),
        format!("before {write}"),
        format!("after {write}"),
        format!("before {shell}"),
        format!("after {shell}"),
        "turn ended".to_owned(),
        "ended".to_owned(),
    ];
    assert_eq!(kinds(&home), first);
    ids_agree(&home);
    texts_are_whole(&home);

    let session = session(&home);
    home.resume(&session, "and [[shell echo more >> new.txt]] [[say more done]]").ok();
    let second = ["started: resume", "prompt", "before", "after", "turn ended", "ended"];
    let words = |kind: &String| kind.trim_end_matches(&format!(" {shell}")).to_owned();
    assert_eq!(kinds(&home)[first.len()..].iter().map(words).collect::<Vec<_>>(), second);
    assert_eq!(crate::session(&home), session);
    let request = home.requests().into_iter().rfind(|request| request.has_tools).unwrap();
    assert!(request.says("all done") && request.says("echo more"));
}

/// All events are of one session, in the project, with a session file of the agent's; a call has
/// the same id before and after, where the agent gives one, and no other call has it.
#[track_caller]
fn ids_agree(home: &AgentHome) {
    let mut calls: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for event in home.events() {
        assert_eq!(event.session, session(home));
        assert_eq!(event.folder.unwrap(), home.project("").components().as_path());
        let file = event.session_file.unwrap();
        assert!(file.starts_with(home.agent_folder()), "{}", file.display());
        assert!(home.session_files().contains(&file), "{}", file.display());
        let gives_ids = home.agent() != Agent::GeminiCli;
        let (call, name) = match event.kind {
            AgentEventKind::BeforeTool { call, .. } => (call, "before"),
            AgentEventKind::AfterTool { call, .. } => (call, "after"),
            _ => continue,
        };
        assert_eq!((call.is_some(), event.prompt_id.is_some()), (gives_ids, gives_ids));
        calls.entry(call.unwrap_or_default()).or_default().push(name);
    }
    for (call, names) in calls.iter().filter(|(call, _)| !call.is_empty()) {
        assert_eq!(names, &["before", "after"], "{call}");
    }
}

/// The prompt, the arguments, the results and the answer are in the events.
#[track_caller]
fn texts_are_whole(home: &AgentHome) {
    for event in home.events() {
        match event.kind {
            AgentEventKind::Prompt { text } => assert_eq!(text, PROMPT),
            AgentEventKind::BeforeTool { input, .. } => {
                let input = input.unwrap();
                assert!(input.contains("poem.txt") || input.contains("new.txt"), "{input}");
            }
            AgentEventKind::AfterTool { input, result, .. } => {
                assert!(input.is_some() && result.is_some());
            }
            AgentEventKind::TurnEnded { answer } => {
                assert!(answer.unwrap().contains("all done"));
            }
            _ => {}
        }
    }
}

#[test]
fn hooks_of_claude_code_arrive_in_order() {
    arrives_in_order(Agent::ClaudeCode, "Write", "Bash");
}

#[test]
fn hooks_of_codex_arrive_in_order() {
    // The tool with which the model writes a file is a command too.
    arrives_in_order(Agent::Codex, "Bash", "Bash");
}

#[test]
fn hooks_of_gemini_cli_arrive_in_order() {
    arrives_in_order(Agent::GeminiCli, "write_file", "run_shell_command");
}

#[test]
fn a_sub_agent_of_claude_code_is_told_apart() {
    let Some(home) = home(Agent::ClaudeCode) else { return };
    home.record_hooks();
    let prompt = "[[task do: {{shell echo sub > sub.txt}} {{say helped}}]] \
                  [[shell echo own > own.txt]] [[say done]]";
    home.prompt(prompt).ok();
    assert_eq!([home.text("sub.txt").unwrap(), home.text("own.txt").unwrap()], ["sub\n", "own\n"]);
    let events = home.events();
    let of = |wanted: &str| {
        let is_it = |kind: &AgentEventKind| match kind {
            AgentEventKind::SubagentStarted { .. } => wanted == "started",
            AgentEventKind::SubagentEnded { .. } => wanted == "ended",
            AgentEventKind::BeforeTool { input: Some(input), .. } => {
                !input.contains("prompt") && input.contains(wanted)
            }
            _ => false,
        };
        let found: Vec<_> = events.iter().filter(|event| is_it(&event.kind)).collect();
        assert_eq!(found.len(), 1, "{wanted}: {events:#?}");
        found[0]
    };
    let subagent = of("started").subagent.clone();
    assert!(subagent.is_some());
    assert_eq!([&of("ended").subagent, &of("sub.txt").subagent], [&subagent, &subagent]);
    assert_eq!(of("own.txt").subagent, None);
    assert_eq!(of("sub.txt").session, session(&home), "the session is that of the main agent");
    let AgentEventKind::SubagentEnded { session_file: Some(file), answer } = &of("ended").kind
    else {
        panic!("{:#?}", of("ended"));
    };
    assert_eq!(answer.as_deref(), Some("helped"));
    assert!(home.session_files().contains(file), "{}", file.display());
    let name = file.file_stem().unwrap().to_str().unwrap();
    assert!(name.contains(&subagent.unwrap()), "the file has the id in its name: {name}");
    assert_eq!(kinds(&home).iter().filter(|kind| *kind == "prompt").count(), 1);
}

/// Two calls in one answer of the model: each has a *before* and an *after*, in this order.
fn calls_of_one_answer_are_pairs(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    home.prompt("[[par echo a > a.txt && echo b > b.txt]] [[say done]]").ok();
    assert_eq!([home.text("a.txt").unwrap(), home.text("b.txt").unwrap()], ["a\n", "b\n"]);
    let mut seen: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for event in home.events() {
        let (input, name) = match event.kind {
            AgentEventKind::BeforeTool { input, .. } => (input, "before"),
            AgentEventKind::AfterTool { input, .. } => (input, "after"),
            _ => continue,
        };
        seen.entry(input.unwrap()).or_default().push(name);
    }
    assert_eq!(seen.len(), 2, "{seen:#?}");
    assert!(seen.values().all(|names| names == &["before", "after"]), "{seen:#?}");
    if agent != Agent::GeminiCli {
        ids_agree(&home);
    }
}

#[test]
fn two_calls_in_one_answer_of_claude_code_are_pairs() {
    calls_of_one_answer_are_pairs(Agent::ClaudeCode);
}

#[test]
fn two_calls_in_one_answer_of_codex_are_pairs() {
    calls_of_one_answer_are_pairs(Agent::Codex);
}

#[test]
fn two_calls_in_one_answer_of_gemini_cli_are_pairs() {
    calls_of_one_answer_are_pairs(Agent::GeminiCli);
}
