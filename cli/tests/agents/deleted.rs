//! A session file that is deleted: the log has the conversation, and a rewind writes it anew.

use std::fs;

use milepost_agent_tests::Agent;

use crate::{home, log, of_kind, rewound, session};

/// Deletes the session file after two prompts, rewinds to before the second, and sends a third.
fn comes_back(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    home.write("data.txt", "alpha\n");
    home.prompt("first [[write poem.txt roses]] [[say first done]]").ok();
    let session = session(&home);
    home.resume(&session, "second [[shell echo quince > data.txt]] [[say second done]]").ok();
    // The last lines are recorded with the end of the session.
    assert!(of_kind(&log(&home, &session), "message").len() >= 4);
    for file in home.session_files() {
        fs::remove_file(file).unwrap();
    }
    let done = rewound(&home, &["~1"]);
    let new = done["session"].as_str().unwrap();
    assert_eq!(home.session_files(), [std::path::PathBuf::from(done["file"].as_str().unwrap())]);
    assert_eq!(home.text("data.txt").as_deref(), Some("alpha\n"));
    assert_eq!(home.text("poem.txt").as_deref(), Some("roses\n"));
    let so_far = home.requests().len();
    let run = home.resume(new, "third [[write three.txt x]] [[say third done]]").ok();
    assert!(run.out.contains("third done"), "{run:#?}");
    let requests = &home.requests()[so_far..];
    let request = requests.iter().rfind(|request| request.has_tools).unwrap();
    for text in ["first", "poem.txt", "first done", "third"] {
        assert!(request.says(text), "{text}");
    }
    for text in ["quince", "second done"] {
        assert!(!requests.iter().any(|request| request.says(text)), "{text}");
    }
    let log = home.milepost(&["transcript", &session]).ok().out;
    assert!(log.contains("third done") && !log.contains("second done"), "{log}");
}

#[test]
fn a_deleted_conversation_of_claude_code_comes_back() {
    comes_back(Agent::ClaudeCode);
}

#[test]
fn a_deleted_conversation_of_codex_comes_back() {
    comes_back(Agent::Codex);
}

#[test]
fn a_deleted_conversation_of_gemini_cli_comes_back() {
    comes_back(Agent::GeminiCli);
}
