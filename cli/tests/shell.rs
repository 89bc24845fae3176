//! Completions of shells, and manual pages.

use std::path::Path;
use std::process::Command;

use milepost_agent_tests::has_programs;

use crate::common::Place;

/// Returns the completions of these words, of which the last is incomplete.
fn completed(place: &Place, words: &[&str]) -> Vec<String> {
    let mut command = place.command(["--", "milepost"]);
    command.args(words);
    command.env("COMPLETE", "bash");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.env("_CLAP_COMPLETE_COMP_TYPE", "9");
    command.env("_CLAP_COMPLETE_SPACE", "true");
    command.env("_CLAP_IFS", "\n");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn commands_tasks_and_checkpoints_are_completed() {
    let place = Place::recorded();
    place.say("mark run@4 early").ok();
    place.say("mark run@6 later").ok();
    assert_eq!(completed(&place, &["linea"]), ["lineages"]);
    assert_eq!(completed(&place, &["log", "re"]), ["react"]);
    assert_eq!(completed(&place, &["lineages", "airline-"]), ["airline-7", "airline-0"]);
    let labels = completed(&place, &["restore", "run@"]);
    assert_eq!(labels, ["run@later", "run@early"]);
    assert_eq!(completed(&place, &["show", "run@e"]), ["run@early"]);
    assert_eq!(completed(&place, &["log", "run", "--kind", "step_fa"]), ["step_failed"]);
    // Without a store there are no completions.
    assert_eq!(completed(&Place::new(), &["log", "re"]), [] as [&str; 0]);
}

#[test]
fn each_shell_gets_a_script() {
    let place = Place::recorded();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.run(["completions", shell]).ok();
        assert!(script.contains("milepost"), "{shell}: {script}");
    }
    place.run(["completions", "tcsh"]).failed(2, "tcsh");
}

/// Returns the output of a shell that has the command on its path.
fn in_shell(shell: &str, args: &[&str]) -> Option<String> {
    if !has_programs(&[shell]) {
        return None;
    }
    let milepost = Path::new(env!("CARGO_BIN_EXE_milepost")).parent().unwrap();
    let path = format!("{}:{}", milepost.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell);
    let output = command.args(args).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn bash_loads_its_script() {
    let load = "source <(milepost completions bash) && complete -p milepost";
    let Some(said) = in_shell("bash", &["-ec", load]) else {
        return;
    };
    assert!(said.contains("milepost"), "{said}");
}

#[test]
fn zsh_loads_its_script() {
    let load = "autoload -Uz compinit && compinit -u -D && source <(milepost completions zsh) && \
                print ${_comps[milepost]}";
    let Some(said) = in_shell("zsh", &["-fec", load]) else {
        return;
    };
    assert!(said.contains("milepost"), "{said}");
}

#[test]
fn there_is_a_page_for_each_command() {
    let place = Place::new();
    let out = place.say("man pages").ok();
    assert!(out.contains("pages in pages"), "{out}");
    for page in ["milepost.1", "milepost-log.1", "milepost-token-create.1"] {
        let text = std::fs::read_to_string(place.path("pages").join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
}
