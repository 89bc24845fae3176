//! The folder of a scene, and what its lines do there.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use portable_pty::CommandBuilder;
use tempfile::TempDir;

use crate::common::dying::{self, When};
use crate::common::terminal::{CTRL_C, DOWN, Terminal};

/// The size of a terminal, on which no text is wrapped.
const SIZE: (u16, u16) = (240, 230);

/// A copy that is in the place of the folder.
pub struct Copied;

/// The folder of a scene.
pub struct Stage {
    dir: TempDir,
}

impl Stage {
    pub fn new() -> Self {
        let stage = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(stage.now().join("my work")).unwrap();
        stage
    }

    /// Empties the folder.
    pub fn clear(&self) {
        fs::remove_dir_all(self.now()).unwrap();
        fs::create_dir_all(self.now().join("my work")).unwrap();
    }

    fn now(&self) -> PathBuf {
        self.dir.path().join("now")
    }

    /// Records the runs of the fixtures, and captures a folder.
    pub fn record(&self) {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let script = format!(
            "cd {} && set -e; \
             milepost --store \"$OLDPWD/.milepost\" record --user ada run.jsonl react.traj tools.traj \
             history_only.traj airline.json; cd \"$OLDPWD\"; milepost mark run@7 before-fix; \
             echo '{{\"kind\":\"message\",\"role\":\"user\",\"content\":\"go\"}}' > hello.jsonl; \
             mkdir site; echo one > site/a.txt; milepost capture site --task airline-7 --label base",
            fixtures.display()
        );
        let (code, text) = self.run(&script);
        assert_eq!(code, 0, "{text}");
    }

    /// The variables of commands. The home is no part of the folder: a folder with the home in it
    /// is captured by no command.
    fn variables(&self) -> [(&'static str, String); 5] {
        let program = Path::new(env!("CARGO_BIN_EXE_milepost"));
        let path = std::env::var("PATH").unwrap_or_default();
        let home = self.now().join("home");
        [
            ("PATH", format!("{}:{path}", program.parent().unwrap().display())),
            ("HOME", home.display().to_string()),
            ("USER", "ada".to_owned()),
            ("MILEPOST_USER_CONFIG", String::new()),
            ("LANG", "C.UTF-8".to_owned()),
        ]
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.now().join("my work"));
        command.env_clear().envs(self.variables()).stdin(Stdio::null());
        command
    }

    /// Runs a command on a terminal: waits for a text, presses keys, and so on. Returns the
    /// screens. If the last part is a text, the command is ended after it; if it is keys, they end
    /// the command: Ctrl-C after them would be a signal to a command that still works, and the
    /// terminal would drop unread output.
    fn press(&self, line: &str) -> String {
        let mut parts = line.split(" | ");
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", parts.next().unwrap()]);
        command.cwd(self.now().join("my work"));
        command.env_clear();
        for (name, value) in self.variables() {
            command.env(name, value);
        }
        command.env("TERM", "xterm-256color");
        let mut terminal = Terminal::start(command, SIZE);
        let mut screens = String::new();
        while let Some(text) = parts.next() {
            screens.push_str(&terminal.wait_for(text));
            screens.push('\n');
            let Some(mut keys) = parts.next() else {
                terminal.press(CTRL_C);
                break;
            };
            if let Some((line, rest)) = keys.strip_prefix("<Run ").and_then(|it| it.split_once('>'))
            {
                assert_eq!(self.run(line), (0, String::new()));
                keys = rest;
            }
            terminal.press(&keys.replace("<Enter>", "\r").replace("<Down>", DOWN));
        }
        terminal.ended();
        screens
    }

    /// Executes a line of a scene. Returns the exit code and the output.
    pub fn line(&self, kind: char, line: &str) -> (i32, String) {
        match kind {
            '$' | '?' => self.run(line),
            '%' => (0, self.press(line)),
            ':' => asserted(line),
            '@' => {
                let work = self.now().join("my work");
                let words: Vec<&str> = line.split(' ').collect();
                let when = match words[0] {
                    "cut" => When::Applied,
                    "ended" => When::Clearing,
                    other => panic!("there is no set-up {other}"),
                };
                dying::restore((&work.join(".milepost"), &work.join(words[2])), when, words[1]);
                (0, String::new())
            }
            _ => (0, String::new()),
        }
    }

    /// Runs a line in the shell. Returns its exit code and its output.
    pub fn run(&self, line: &str) -> (i32, String) {
        let ran = self.command(line).output().unwrap();
        let text = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (ran.status.code().unwrap_or(-1), text.concat())
    }

    /// Returns the first line of a command that does not end, and ends it.
    pub fn first_line(&self, line: &str) -> Option<String> {
        // The usual port may be taken.
        let port = if line == "milepost serve" { " --listen 127.0.0.1:0" } else { "" };
        let mut command = self.command(&format!("exec {line}{port}"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut first = String::new();
        let read = BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        (read > 0).then_some(first)
    }

    /// Puts a copy in the place of the folder, until it is put back. A copy of a store is trusted
    /// by this.
    pub fn copy(&self) -> Copied {
        let [now, aside] = ["now", "aside"].map(|name| self.dir.path().join(name));
        fs::rename(&now, &aside).unwrap();
        let copied = Command::new("cp").arg("-a").args([&aside, &now]).status();
        assert!(copied.unwrap().success());
        if self.now().join("my work/.milepost/store").is_file() {
            self.run("milepost trust --yes");
        }
        Copied
    }

    pub fn put_back(&self, _: Copied) {
        let [now, aside] = ["now", "aside"].map(|name| self.dir.path().join(name));
        fs::remove_dir_all(&now).unwrap();
        fs::rename(&aside, &now).unwrap();
    }
}

/// Returns a text that a test in a file asserts.
fn asserted(line: &str) -> (i32, String) {
    let (file, text) = line.split_once(' ').unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = fs::read_to_string(root.join(file)).unwrap();
    // Behind its first test a file has nothing that is not of tests.
    let tests = source.split_once("#[test]").map_or("", |(_, tests)| tests);
    let tests: String = tests.split("\\\n").map(str::trim_start).collect();
    (0, if tests.contains(text) { text.to_owned() } else { String::new() })
}
