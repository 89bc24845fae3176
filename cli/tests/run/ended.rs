//! Ends of a command: by itself, by a signal, at its time limit, or a failed start.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::Ran;
use crate::run::{MILEPOST, place, printed, ran, recorded, script};

/// A pipe with a name.
fn fifo(path: &std::path::Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let place = place();
    for code in [0, 1, 42, 255] {
        let done = Ran::of(ran(&place, "", &format!("exit {code}")));
        assert_eq!(done.code, code);
        assert!(done.err.starts_with(&format!("milepost: exit code {code}, ")), "{done:?}");
        let (_, returned) = recorded(&place);
        assert_eq!(returned["ok"], code == 0);
        assert_eq!(returned["output"]["exit"], code);
        assert_eq!(returned["output"]["signal"], Value::Null);
    }
}

#[test]
fn one_that_a_signal_ended_has_128_and_its_number() {
    let place = place();
    let done = Ran::of(ran(&place, "", "echo first; kill -KILL $$"));
    assert_eq!((done.code, done.out.as_str()), (137, "first\n"));
    assert!(done.err.starts_with("milepost: signal 9, "), "{done:?}");
    let (_, returned) = recorded(&place);
    assert_eq!((&returned["ok"], &returned["output"]["signal"]), (&json!(false), &json!(9)));
    assert_eq!(returned["output"]["exit"], Value::Null);
    assert_eq!(place.items("checkpoints essay")[0]["metadata"]["signal"], 9);
}

#[test]
fn when_the_time_is_over_the_whole_group_is_ended_and_that_is_recorded() {
    let place = place();
    fifo(&place.path("alive"));
    let text = "echo changed > draft.md; echo begun; sleep 600 > ../alive & wait";
    let mut command = script(&place, "--timeout 2s", text);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The end of file comes when the last writer has closed the pipe.
    let mut alive = fs::File::open(place.path("alive")).unwrap();
    alive.read_to_end(&mut Vec::new()).unwrap();
    let done = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.out.as_str()), (124, "begun\n"));
    assert!(done.err.starts_with("milepost: the time was over, signal 15, "), "{done:?}");
    assert!(done.err.contains("0 created, 1 changed, 0 deleted"), "{done:?}");
    let (_, returned) = recorded(&place);
    assert_eq!((&returned["ok"], &returned["output"]["timed_out"]), (&json!(false), &json!(true)));
    assert_eq!(printed(&returned, "stdout"), b"begun\n");
}

#[test]
fn one_that_ends_in_time_keeps_its_exit_code() {
    let place = place();
    assert_eq!(ran(&place, "--timeout 1h", "exit 5").status.code(), Some(5));
    let (_, returned) = recorded(&place);
    assert_eq!(returned["output"]["timed_out"], Value::Null);
}

#[test]
fn one_that_cannot_be_started_is_recorded_with_both_checkpoints() {
    let place = place();
    place.write("work/plain", "no program");
    fs::set_permissions(place.path("work/plain"), fs::Permissions::from_mode(0o644)).unwrap();
    for (name, code, why) in
        [("no-such-program", 127, "No such file"), ("./plain", 126, "Permission denied")]
    {
        let marks = place.ids("checkpoints essay").len();
        let done = place.run(["run", "--task", "essay", "--dir", "work", "--", name]);
        assert_eq!((done.code, done.out.as_str()), (code, ""), "{done:?}");
        assert!(
            done.err.starts_with(&format!("milepost: {name} cannot be started: {why}")),
            "{done:?}"
        );
        let (_, returned) = recorded(&place);
        assert_eq!((&returned["ok"], &returned["output"]["exit"]), (&json!(false), &json!(code)));
        assert!(returned["output"]["error"].as_str().unwrap().contains(why), "{returned}");
        assert_eq!(place.ids("checkpoints essay").len(), marks + 2);
    }
    let report = place.run(["run", "--task", "essay", "--json", "no-such-program"]);
    let report: Value = serde_json::from_str(&report.out).unwrap();
    assert_eq!((&report["run"], &report["recorded"]), (&json!(false), &json!(true)));
}

#[test]
fn an_interrupt_from_the_terminal_reaches_the_command_and_its_end_is_recorded() {
    let place = place();
    // As the terminal does: all of the group get it.
    let mut command = script(&place, "", "trap 'echo caught; exit 7' INT; kill -INT 0; exit 8");
    let done = Ran::of(command.process_group(0).output().unwrap());
    assert_eq!((done.code, done.out.as_str()), (7, "caught\n"), "{done:?}");
    assert_eq!(recorded(&place).1["output"]["exit"], 7);
    // One that does not mind ends it by itself.
    let mut command = script(&place, "", "kill -INT 0; exit 8");
    assert_eq!(command.process_group(0).output().unwrap().status.code(), Some(130));
    assert_eq!(recorded(&place).1["output"]["signal"], 2);
}

#[test]
fn a_request_to_end_is_handed_on_to_the_command() {
    let place = place();
    for options in ["", "--timeout 1h"] {
        let text = "trap 'exit 9' TERM; kill -TERM $PPID; while :; do :; done";
        assert_eq!(ran(&place, options, text).status.code(), Some(9));
        assert_eq!(recorded(&place).1["output"]["exit"], 9);
    }
    // With a group of its own the terminal does not reach it.
    let text = "trap 'exit 6' INT; kill -INT $PPID; while :; do :; done";
    assert_eq!(ran(&place, "--timeout 1h", text).status.code(), Some(6));
}

#[test]
#[cfg_attr(milepost_portable, ignore = "only Linux tells which signals are ignored")]
fn signals_that_were_ignored_stay_ignored() {
    let place = place();
    let text =
        "trap '' HUP; exec \"$0\" run --task essay --dir work -- sh -c 'kill -HUP $$; echo alive'";
    let mut command = Command::new("sh");
    command.args(["-c", text, MILEPOST]).current_dir(place.dir.path());
    command.env_remove("MILEPOST_STORE").env("XDG_CONFIG_HOME", place.path("config"));
    let done = Ran::of(command.output().unwrap());
    assert_eq!((done.code, done.out.as_str()), (0, "alive\n"), "{done:?}");
}

#[test]
fn where_nobody_reads_its_output_the_command_is_told_as_it_would_be() {
    let place = place();
    let mut command = script(&place, "", "exec yes");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"y\n");
    let done = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(done.code, 141, "{done:?}");
    assert_eq!(recorded(&place).1["output"]["signal"], 13);
}

#[test]
fn what_it_leaves_running_keeps_nobody() {
    let place = place();
    fifo(&place.path("hold"));
    // The child still has the pipes, and waits for input that only the test gives.
    let done = Ran::of(ran(&place, "", "(read x < ../hold) & echo started"));
    assert_eq!((done.code, done.out.as_str()), (0, "started\n"), "{done:?}");
    fs::write(place.path("hold"), "go\n").unwrap();
}
