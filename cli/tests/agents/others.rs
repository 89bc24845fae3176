//! Agents that `tests/agents/install --more FOLDER` installs: each runs a session with a file and a
//! command, and Milepost takes the files back. `MILEPOST_AGENTS_ALL=FOLDER` names the folder.

use std::collections::BTreeMap;
use std::path::PathBuf;

use milepost_agent_tests::{Agent, AgentHome};
use serde_json::Value;

use crate::failures::works_on_behind_a_hook_that_hangs;
use crate::rewind::{TOLD, conversation_goes_back, files_go_back};
use crate::{home, kinds, session};

const PROMPT: &str = "please [[write poem.txt roses]] [[shell sed -i s/alpha/ALPHA/ data.txt; \
    rm mine.txt; echo new > new.txt]] [[say all done]]";

/// Returns the files with hooks, and the content of the folders above them.
fn places(home: &AgentHome) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for file in home.agent().hook_files(&home.settings_file()) {
        let above = file.path.ancestors().skip(1);
        for folder in above.take_while(|folder| *folder != home.path("home")) {
            found.insert(folder.to_owned(), folder.is_dir().then(Vec::new));
        }
        found.insert(file.path.clone(), std::fs::read(file.path).ok());
    }
    found
}

/// The log of a session, with the marks of calls.
fn log(home: &AgentHome, session: &str) -> Vec<Value> {
    let log = home.milepost(&["log", session, "--reverse", "--json"]).ok().out;
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the ids of calls with a mark of a cause right behind a capture that was in time.
fn captured_calls(log: &[Value], cause: &str) -> Vec<String> {
    let is_captured = |pair: &[Value]| {
        let (before, mark) = (&pair[0], &pair[1]["body"]);
        before["kind"] == "workspace_captured"
            && (&mark["kind"], &mark["cause"]) == (&"checkpoint_marked".into(), &cause.into())
            && mark["metadata"]["tool"].is_string()
            && mark["metadata"]["uncaptured"].is_null()
    };
    let marks = log.windows(2).filter(|pair| is_captured(pair));
    marks.map(|pair| pair[1]["correlation"].as_str().unwrap().to_owned()).collect()
}

/// Both calls are in the log with a capture before and after each, and a way back to before the
/// first one gives all files back.
fn is_recorded_and_goes_back(agent: Agent, write: &str, shell: &str) {
    let Some(home) = home(agent) else { return };
    let before = places(&home);
    home.record_hooks();
    home.write("data.txt", "alpha\n");
    home.write("mine.txt", "mine\n");
    let run = home.prompt(PROMPT).ok();
    assert!(run.out.contains("all done"), "{run:#?}");
    assert_eq!(home.text("data.txt").as_deref(), Some("ALPHA\n"));
    let tools: Vec<String> = [write, shell]
        .iter()
        .flat_map(|tool| [format!("before {tool}"), format!("after {tool}")])
        .collect();
    let said = kinds(&home);
    let of_tools = said.iter().filter(|kind| kind.contains("before") || kind.contains("after"));
    assert_eq!(of_tools.cloned().collect::<Vec<_>>(), tools, "{said:?}");
    assert_eq!(said.iter().filter(|kind| *kind == "turn ended").count(), 1, "{said:?}");

    let session = session(&home);
    let log = log(&home, &session);
    let [begun, ended] = ["before_tool", "step"].map(|cause| captured_calls(&log, cause));
    assert_eq!((begun.len(), ended.len()), (2, 2), "{log:#?}");
    assert_eq!(begun, ended);
    home.write("notes.md", "hers\n");
    home.milepost(&["rollback", &format!("{session}@{}", begun[0]), "--leave-others"]).ok();
    assert_eq!(home.text("data.txt").as_deref(), Some("alpha\n"));
    assert_eq!(home.text("mine.txt").as_deref(), Some("mine\n"));
    assert_eq!((home.text("poem.txt"), home.text("new.txt")), (None, None));
    assert_eq!(home.text("notes.md").as_deref(), Some("hers\n"));
    home.milepost(&["undo", &session]).ok();
    assert_eq!(home.text("new.txt").as_deref(), Some("new\n"));
    home.uninstall_hooks();
    let after = places(&home);
    for (place, was) in &before {
        assert_eq!(&after[place], was, "{}", place.display());
    }
}

/// The program of the hooks is missing, or exits with any code: the agent works on.
fn works_on(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.install_hooks();
    home.replace_program(&home.path("bin/stand-in"));
    let makes = |name: &str| {
        home.prompt(&format!("[[shell echo it > {name}]] [[say done]]")).ok();
        home.text(name).is_some()
    };
    assert!(makes("missing.txt"));
    for code in [1, 2, 101] {
        home.script("stand-in", &format!("cat > /dev/null; echo a word; exit {code}"));
        assert!(makes(&format!("{code}.txt")), "exit code {code}");
    }
}

/// The hooks told the conversation: the files go back to before a prompt, and the agent and the log
/// keep the conversation.
fn goes_back_without_a_session_file(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    home.prompt("please [[shell echo it > it.txt]] [[say done]]").ok();
    let session = session(&home);
    let said: Vec<String> = log(&home, &session)
        .iter()
        .filter(|event| event["body"]["kind"] == "message")
        .map(|event| event["body"]["role"].as_str().unwrap().to_owned())
        .collect();
    // The documents of Copilot CLI have no answers.
    let wanted = if agent == Agent::Copilot { &["user"][..] } else { &["user", "assistant"] };
    assert_eq!(said, wanted);
    let run = home.milepost(&["rewind", "~1", "--yes"]).ok();
    assert!(run.out.contains("the agent's conversation stays"), "{run:#?}");
    assert_eq!(home.text("it.txt"), None);
    home.milepost(&["undo", &session]).ok();
    assert!(home.text("it.txt").is_some());
}

/// The user restored files: the model is told at the next prompt of the session, once.
fn is_told(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    home.prompt("[[shell echo it > it.txt]] [[say done]]").ok();
    let session = session(&home);
    let call = captured_calls(&log(&home, &session), "before_tool").remove(0);
    home.milepost(&["rollback", &format!("{session}@{call}"), "--leave-others"]).ok();
    assert_eq!(home.text("it.txt"), None);
    let so_far = home.requests().len();
    home.resume(&session, "again [[say again done]]").ok();
    assert!(home.requests()[so_far..].iter().any(|request| request.says(TOLD)));
}

/// A file of the user's is in the place of ours.
#[test]
fn a_file_of_the_user_is_not_replaced() {
    for (agent, name) in [(Agent::OpenCode, ""), (Agent::Cline, "PreToolUse")] {
        let Some(home) = home(agent) else { return };
        let file = match name {
            "" => home.settings_file(),
            name => home.settings_file().join(name),
        };
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "hers\n").unwrap();
        let before = places(&home);
        let run = home.milepost(&["agent", "install", agent.name()]);
        assert_eq!(run.code, Some(1), "{run:#?}");
        assert!(
            run.err.contains("hint: ") && run.err.contains(&*file.to_string_lossy()),
            "{run:#?}"
        );
        assert_eq!(places(&home), before);
    }
}

#[test]
fn a_session_of_qwen_code_is_recorded_and_goes_back() {
    is_recorded_and_goes_back(Agent::QwenCode, "write_file", "run_shell_command");
}

#[test]
fn a_session_of_copilot_is_recorded_and_goes_back() {
    is_recorded_and_goes_back(Agent::Copilot, "Write", "Bash");
}

#[test]
fn a_session_of_opencode_is_recorded_and_goes_back() {
    is_recorded_and_goes_back(Agent::OpenCode, "write", "bash");
}

#[test]
fn a_session_of_cline_is_recorded_and_goes_back() {
    is_recorded_and_goes_back(Agent::Cline, "apply_patch", "run_commands");
}

#[test]
fn qwen_code_works_on_behind_hooks_that_fail() {
    works_on(Agent::QwenCode);
}

#[test]
fn copilot_works_on_behind_hooks_that_fail() {
    works_on(Agent::Copilot);
}

#[test]
fn opencode_works_on_behind_hooks_that_fail() {
    works_on(Agent::OpenCode);
}

#[test]
fn cline_works_on_behind_hooks_that_fail() {
    works_on(Agent::Cline);
}

#[test]
fn files_of_qwen_code_go_back_to_before_a_prompt() {
    files_go_back(Agent::QwenCode);
}

#[test]
fn a_conversation_of_qwen_code_goes_back_to_before_a_prompt() {
    conversation_goes_back(Agent::QwenCode);
}

#[test]
fn files_of_copilot_go_back_without_a_session_file() {
    goes_back_without_a_session_file(Agent::Copilot);
}

#[test]
fn files_of_opencode_go_back_without_a_session_file() {
    goes_back_without_a_session_file(Agent::OpenCode);
}

#[test]
fn a_session_of_cline_has_no_prompt_to_go_back_to() {
    let Some(home) = home(Agent::Cline) else { return };
    home.record_hooks();
    home.prompt("[[shell echo it > it.txt]] [[say done]]").ok();
    let session = session(&home);
    for line in [vec!["rewind"], vec!["rewind", "~1", "--yes"], vec!["rewind", &session, "--yes"]] {
        let run = home.milepost(&line);
        assert_eq!(run.code, Some(1), "{run:#?}");
        assert!(run.err.contains("no prompt of session"), "{run:#?}");
        assert!(run.err.contains("milepost rollback"), "{run:#?}");
    }
    assert!(home.text("it.txt").is_some());
}

#[test]
fn the_model_of_copilot_is_told_that_files_went_back() {
    is_told(Agent::Copilot);
}

#[test]
fn the_model_of_opencode_is_told_that_files_went_back() {
    is_told(Agent::OpenCode);
}

#[test]
fn qwen_code_works_on_when_a_hook_that_is_late_has_ended() {
    // As Gemini CLI it waits for the program that has the output of the hook.
    works_on_behind_a_hook_that_hangs(Agent::QwenCode, 7);
}

#[test]
fn opencode_works_on_behind_a_hook_that_hangs() {
    works_on_behind_a_hook_that_hangs(Agent::OpenCode, 600);
}
