//! Completions in a bash on a terminal.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use milepost_agent_tests::has_programs;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::Value;

use crate::common::{Place, fixture};

/// The longest wait for a prompt.
const HANGS: Duration = Duration::from_secs(60);
const PROMPT: &str = "ready> ";

/// Settings of the bash: a prompt to wait for, the script, and a name of a host to be wrong with.
const SETTINGS: &str = "\
PS1='ready> '
HOSTFILE=hosts
bind 'set enable-bracketed-paste off'
bind 'set bell-style none'
source <(milepost completions bash)
";

/// Reads until the next prompt.
fn wait_for_prompt(written: &Receiver<Vec<u8>>, screen: &mut String) {
    loop {
        if screen.ends_with(PROMPT) {
            return;
        }
        match written.recv_timeout(HANGS) {
            Ok(bytes) => screen.push_str(&String::from_utf8_lossy(&bytes)),
            Err(error) => panic!("no prompt: {error}: {screen}"),
        }
    }
}

/// Types lines into a bash that has loaded its script. Returns `None` where there is no bash.
fn typed(place: &Place, lines: &[&str]) -> Option<String> {
    if !has_programs(&["bash"]) {
        return None;
    }
    let milepost = Path::new(env!("CARGO_BIN_EXE_milepost")).parent().unwrap();
    place.write("settings", SETTINGS);
    place.write("hosts", "10.0.0.1 zzhost\n");
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new("bash");
    command.args(["--noprofile", "--rcfile", "settings", "-i"]);
    command.cwd(place.dir.path());
    command.env_clear();
    let path = format!("{}:{}", milepost.display(), std::env::var("PATH").unwrap());
    for (name, value) in [("PATH", path.as_str()), ("TERM", "dumb"), ("LC_ALL", "C.UTF-8")] {
        command.env(name, value);
    }
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(name, place.path("home"));
    }
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut writer = pair.master.take_writer().unwrap();
    let (sender, written) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer[..read].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut screen = String::new();
    for line in lines {
        wait_for_prompt(&written, &mut screen);
        writer.write_all(format!("{line}\r").as_bytes()).unwrap();
        screen.push('\n');
    }
    wait_for_prompt(&written, &mut screen);
    writer.write_all(b"exit\r").unwrap();
    child.wait().unwrap();
    Some(screen)
}

#[test]
fn addresses_are_completed_behind_their_at_and_colon() {
    let place = Place::recorded();
    place.say("mark run@4 before-fix").ok();
    place.say("mark run@6 later").ok();
    let again = fixture("run.jsonl").display().to_string();
    place.run(["record", "--task", "a:b", &again]).ok();
    place.say("mark a:b@5 beta").ok();
    let screen = typed(
        &place,
        &[
            "milepost show run@be\t--json > label",
            "milepost diff run@be\trun@la\t--json > earlier",
            "milepost show a:b@b\t--json > colon",
            "milepost log run --kind=step_fa\t--json > option",
            "milepost show re\t--json > task",
            "milepost show run@zz\t --json 2> none",
        ],
    );
    let Some(screen) = screen else { return };
    let read = |name: &str| -> Value {
        let text = fs::read_to_string(place.path(name)).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {screen}"))
    };
    assert_eq!(read("label")["offset"], 4, "{screen}");
    assert_eq!(read("earlier"), place.json("diff run@4 run@6"), "{screen}");
    assert_eq!((&read("colon")["task"], &read("colon")["offset"]), (&"a:b".into(), &5.into()));
    assert_eq!(read("option")["kind"], "step_failed", "{screen}");
    assert_eq!(read("task")["task"], "react", "{screen}");
    // A name of a host would follow the `@`.
    let message = read("none")["error"]["message"].to_string();
    assert!(message.contains("`zz`"), "{message}: {screen}");
}

#[test]
fn a_name_that_a_shell_would_interpret_is_not_completed() {
    let place = Place::new();
    place.run(["start", "a;touch pwned;x"]).ok();
    place.run(["start", "plain"]).ok();
    let lines = ["milepost log a\t > shown 2>&1", "milepost log pl\t --json > plain"];
    let Some(screen) = typed(&place, &lines) else { return };
    assert!(!place.path("pwned").exists(), "{screen}");
    assert!(!fs::read_to_string(place.path("plain")).unwrap().is_empty(), "{screen}");
}
