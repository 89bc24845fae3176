//! Places where agents run: a folder without Git, a repository in another one, and the home folder.

use std::fs;

use milepost_agent_tests::Agent;

use crate::{home, log, of_kind, rewound, session};

/// Commands that change the folder of the agent: there is one store and one session all the same,
/// and a rewind restores everything. There is no repository.
fn has_one_project(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    home.write("data.txt", "alpha\n");
    let before = home.files("");
    let sub = home.project("sub");
    let prompt = format!(
        "[[shell mkdir -p {0}/deep && cd {0} && echo one > one.txt]] \
         [[shell cd {0}/deep && echo two > two.txt]] [[shell echo x > where.txt]] [[say done]]",
        sub.display()
    );
    home.prompt(&prompt).ok();
    let session = session(&home);
    home.resume(&session, "[[shell echo three > three.txt; rm data.txt]] [[say done]]").ok();
    let names: Vec<String> = home.files("").into_keys().collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(home.stores().len(), 1, "{:?}", home.stores());
    assert_eq!(of_kind(&log(&home, &session), "tool_called").len(), 4);
    // In a folder of the project the commands are those of the project.
    let plan = home.milepost_in(&sub, &["rewind", "~1", "--dry-run"]).ok().out;
    assert!(plan.contains("- three.txt") && !plan.contains("one.txt"), "{plan}");
    rewound(&home, &["prompt-1"]);
    assert_eq!(home.files(""), before);
    assert!(!sub.exists());
}

/// The files of a repository in the project are captured and go back with the others. No file of
/// either `.git` is touched.
fn takes_back_a_repository_in_another(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    fs::create_dir_all(home.project("vendor/lib")).unwrap();
    home.write("vendor/lib/lib.txt", "alpha\n");
    home.write("data.txt", "alpha\n");
    let git = |arguments: &[&str]| {
        let inner = [&["-C", "vendor/lib"], arguments].concat();
        home.git(&inner) + &home.git(arguments)
    };
    for command in [&["init"][..], &["add", "."], &["commit", "--message", "first"]] {
        home.git(&[&["-C", "vendor/lib"], command].concat());
    }
    for command in [&["init"][..], &["add", "."], &["commit", "--message", "first"]] {
        home.git(command);
    }
    assert_eq!(git(&["status", "--porcelain"]), "");
    let repositories = || (home.files("vendor/lib/.git"), home.files(".git"));
    let (before, files) = (repositories(), home.files(""));
    let prompt = "[[shell sed -i s/alpha/ALPHA/ data.txt vendor/lib/lib.txt; \
                  echo it > vendor/lib/new.txt]] [[say done]]";
    let mut command = home.command(None, prompt);
    // The agent itself asks for the status.
    command.env("GIT_OPTIONAL_LOCKS", "0");
    home.run(command).ok();
    assert!(repositories() == before, "no file of a repository is another one");
    let changed = " M lib.txt\n?? new.txt\n M data.txt\n M vendor/lib\n";
    assert_eq!(git(&["--no-optional-locks", "status", "--porcelain"]), changed);
    rewound(&home, &["~1"]);
    assert!(home.files("") == files, "all files are as they were, those of Git too");
    assert_eq!(git(&["status", "--porcelain"]), "");
}

/// A session that begins in a folder of a repository is one of that repository, not of the one
/// around it. Each is rewound alone.
fn belongs_to_the_nearest_repository(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    let inner = home.project("vendor/lib");
    for folder in [&inner, &home.project("src")] {
        fs::create_dir_all(folder).unwrap();
    }
    home.git(&["init"]);
    home.git(&["-C", "vendor/lib", "init"]);
    for (folder, stores) in [("src", 1), ("vendor/lib", 2)] {
        let mut command = home.command(None, "[[shell echo it > made.txt]] [[say done]]");
        command.current_dir(home.project(folder));
        home.run(command).ok();
        assert_eq!(home.stores().len(), stores, "{:?}", home.stores());
    }
    let made = || ["src/made.txt", "vendor/lib/made.txt"].map(|name| home.text(name).is_some());
    assert_eq!(made(), [true, true]);
    home.milepost_in(&inner, &["rewind", "~1", "--yes"]).ok();
    assert_eq!(made(), [true, false]);
    home.milepost_in(&home.project("src"), &["rewind", "~1", "--yes"]).ok();
    assert_eq!(made(), [false, false]);
}

/// The home folder is no project: there are events and no files, and a rewind of the files is
/// refused.
fn records_no_files_of_a_home_folder(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    let folder = home.path("home");
    fs::write(folder.join("mine.txt"), "mine\n").unwrap();
    let prompt = "[[shell echo x >> mine.txt; echo x > new.txt]] [[say it]]";
    let mut command = home.command(None, prompt);
    command.current_dir(&folder);
    home.run(command).ok();
    let session = session(&home);
    let log = home.milepost_in(&folder, &["log", &session, "--json"]).ok().out;
    assert!(log.contains("new.txt") && log.contains("tool_called"), "{log}");
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let texts = || ["mine.txt", "new.txt"].map(text);
    let before = texts();
    assert_eq!(before, [Some("mine\nx\n".to_owned()), Some("x\n".to_owned())]);
    for option in ["--yes", "--dry-run", "--files-only"] {
        let run = home.milepost_in(&folder, &["rewind", "~1", option]);
        assert_eq!(run.code, Some(1), "{run:#?}");
        assert!(run.err.contains("no files are recorded in"), "{run:#?}");
        assert_eq!(texts(), before);
    }
    home.milepost_in(&folder, &["rewind", "~1", "--conversation-only", "--yes"]).ok();
    assert_eq!(texts(), before);
}

#[test]
fn commands_of_claude_code_that_change_its_folder_leave_one_project() {
    has_one_project(Agent::ClaudeCode);
}

#[test]
fn commands_of_codex_that_change_its_folder_leave_one_project() {
    has_one_project(Agent::Codex);
}

#[test]
fn commands_of_gemini_cli_that_change_its_folder_leave_one_project() {
    has_one_project(Agent::GeminiCli);
}

#[test]
fn claude_code_in_a_repository_with_another_in_it() {
    takes_back_a_repository_in_another(Agent::ClaudeCode);
}

#[test]
fn codex_in_a_repository_with_another_in_it() {
    takes_back_a_repository_in_another(Agent::Codex);
}

#[test]
fn gemini_cli_in_a_repository_with_another_in_it() {
    takes_back_a_repository_in_another(Agent::GeminiCli);
}

#[test]
fn a_session_of_claude_code_belongs_to_the_nearest_repository() {
    belongs_to_the_nearest_repository(Agent::ClaudeCode);
}

#[test]
fn a_session_of_codex_belongs_to_the_nearest_repository() {
    belongs_to_the_nearest_repository(Agent::Codex);
}

#[test]
fn claude_code_in_a_home_folder_is_recorded_without_files() {
    records_no_files_of_a_home_folder(Agent::ClaudeCode);
}

#[test]
fn codex_in_a_home_folder_is_recorded_without_files() {
    records_no_files_of_a_home_folder(Agent::Codex);
}

#[test]
fn gemini_cli_in_a_home_folder_is_recorded_without_files() {
    records_no_files_of_a_home_folder(Agent::GeminiCli);
}
