//! Scenes: shell lines in a folder of their own, and the commands that they print.
//!
//! ```text
//! ## NAME         a scene; one that is named `recorded ..` begins with runs and a captured folder
//! $ LINE          a line for the shell, which succeeds
//! ? LINE          a line that prints hints; each command in it is executed in the state after it
//! = NAME VALUE    the value of a name in capitals in a printed command
//! ! CODE BEGIN    the exit code of printed commands that begin so, if it is not 0
//! + BEGIN         printed commands that begin so wait for a signal
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::sources::Hint;

/// Values of names in capitals.
const VALUES: [(&str, &str); 17] = [
    ("ADDRESS", "run@7"),
    ("COMMAND", "true"),
    ("DIR", "site"),
    ("FILE", "hello.jsonl"),
    ("LABEL", "here"),
    ("LINEAGE", "0"),
    ("N", "1"),
    ("NAME", "other"),
    ("OTHER", "other"),
    ("PATH", "a.txt"),
    ("TASK", "run"),
    ("TEXT", "e"),
    ("STORE", ".milepost"),
    ("U", "ada"),
    ("A", "airline-0"),
    ("B", "airline-7"),
    ("..", "airline-0 airline-7"),
];

/// What a command printed, with single spaces.
pub struct Printed(String);

impl Printed {
    /// Returns `true` if it has the parts of the hint, one after another.
    pub fn has(&self, hint: &Hint) -> bool {
        let mut rest = self.0.as_str();
        hint.parts().iter().all(|part| {
            let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
            match rest.find(&part) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            }
        })
    }
}

#[derive(Default)]
pub struct Scene {
    pub name: String,
    lines: Vec<(char, String)>,
}

impl Scene {
    pub fn all(text: &str) -> Vec<Self> {
        let mut scenes: Vec<Self> = Vec::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("## ") {
                scenes.push(Self { name: name.to_owned(), lines: Vec::new() });
            } else if let Some((kind, rest)) = line.split_once(' ')
                && "$?=!+".contains(kind)
                && !kind.is_empty()
            {
                let kind = kind.chars().next().unwrap();
                scenes.last_mut().unwrap().lines.push((kind, rest.to_owned()));
            } else {
                assert!(line.is_empty() || line.starts_with('#'), "{line}");
            }
        }
        scenes
    }

    /// Plays the scene. Returns what it printed, and what is wrong.
    pub fn play(&self) -> (Vec<Printed>, Vec<String>) {
        let (mut printed, mut wrong) = (Vec::new(), Vec::new());
        let stage = Stage::new();
        if self.name.starts_with("recorded") {
            stage.record();
        }
        let mut values: BTreeMap<&str, &str> = VALUES.into_iter().collect();
        for (_, line) in self.lines.iter().filter(|(kind, _)| *kind == '=') {
            values.extend(line.split_once(' '));
        }
        for (kind, line) in &self.lines {
            let is_asked = match kind {
                '$' => false,
                '?' => true,
                _ => continue,
            };
            let (code, text) = stage.run(line);
            if !is_asked {
                if code != 0 {
                    wrong.push(format!("{}: $ {line}: exit code {code}\n{text}", self.name));
                }
                continue;
            }
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let commands = commands(&text, line);
            if commands.is_empty() {
                wrong.push(format!("{}: ? {line}: prints no command\n{text}", self.name));
            }
            printed.push(Printed(without_store(&text)));
            for command in commands {
                let copy = stage.copy();
                if let Some(why) = self.execute(&copy, &command, &values) {
                    wrong.push(format!("{}: ? {line}\n{text}\n{why}", self.name));
                }
                stage.put_back(copy);
            }
        }
        (printed, wrong)
    }

    fn of(&self, asked: char, command: &str) -> Option<&str> {
        let lines = self.lines.iter().filter(|(kind, _)| *kind == asked);
        let begin = |line: &&str| {
            let begin = if asked == '!' { line.split_once(' ').unwrap().1 } else { line };
            command.strip_prefix("milepost ").is_some_and(|command| command.starts_with(begin))
        };
        // The longest one is the most exact.
        lines.map(|(_, line)| line.as_str()).filter(begin).max_by_key(|line| line.len())
    }

    /// Executes a printed command. Returns what is wrong.
    fn execute(
        &self,
        stage: &Stage,
        printed: &str,
        values: &BTreeMap<&str, &str>,
    ) -> Option<String> {
        let command = match filled(printed, values) {
            Ok(command) => command,
            Err(name) => return Some(format!("`{printed}`: there is no value for {name}")),
        };
        if self.of('+', printed).is_some() {
            let first = stage.first_line(&command);
            return first.is_none().then(|| format!("`{command}` ended without a line"));
        }
        let expected = self.of('!', printed).and_then(|line| line.split(' ').next()?.parse().ok());
        let expected: i32 = expected.unwrap_or(0);
        // A command that asks is answered with yes.
        let asks = ["milepost delete", "milepost erase", "milepost cleanup", "milepost trust"];
        let yes = asks.iter().any(|begin| command.starts_with(begin)) && !command.contains("--");
        let (code, text) = stage.run(&format!("{command}{}", if yes { " --yes" } else { "" }));
        (code != expected).then(|| format!("`{command}`: exit code {code}, not {expected}\n{text}"))
    }
}

/// Returns the commands in backquotes, and of options the asked line with the option.
fn commands(text: &str, line: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for quoted in text.split('`').skip(1).step_by(2) {
        let command = match quoted.split_once(' ') {
            _ if quoted.starts_with("--") => with_option(line, quoted),
            Some(("milepost", _)) => quoted.to_owned(),
            _ => continue,
        };
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
}

/// Returns a text whose commands name no store.
fn without_store(text: &str) -> String {
    let mut parts = text.split("`milepost --store ");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let command = part.split_once(' ').map_or(part, |(_, command)| command);
        // What the sources print with the option keeps it.
        all.push_str(&format!("`milepost {command} \u{2}`milepost --store {part}"));
    }
    all
}

/// Returns a line with an option, in the place of the same option with another value.
fn with_option(line: &str, option: &str) -> String {
    let name = option.split(' ').next().unwrap();
    let (own, after) = line.split_once(" -- ").map_or((line, None), |(own, it)| (own, Some(it)));
    let mut words: Vec<&str> = own.split(' ').collect();
    if let Some(at) = words.iter().position(|word| *word == name) {
        let with_value = 1 + usize::from(option.contains(' '));
        words.drain(at..words.len().min(at + with_value));
    }
    let after = after.map(|after| format!(" -- {after}")).unwrap_or_default();
    format!("{} {option}{after}", words.join(" "))
}

/// Returns a command with values in the place of names.
fn filled(command: &str, values: &BTreeMap<&str, &str>) -> Result<String, String> {
    let (mut filled, mut word) = (String::new(), String::new());
    let is_help = command.starts_with("milepost help ");
    for c in command.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() || "_.-".contains(c) {
            word.push(c);
            continue;
        }
        let is_name = word == ".."
            || !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        match (is_name, values.get(word.as_str())) {
            (true, Some(_)) if is_help => filled.push_str("tasks"),
            (true, Some(value)) => filled.push_str(value),
            (true, None) => return Err(word),
            (false, _) => filled.push_str(&word),
        }
        word.clear();
        filled.extend((c != '\0').then_some(c));
    }
    Ok(filled)
}

/// The folder of a scene.
struct Stage {
    dir: TempDir,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("now/my work")).unwrap();
        Self { dir }
    }

    fn now(&self) -> PathBuf {
        self.dir.path().join("now")
    }

    /// Records the runs of the fixtures, and captures a folder.
    fn record(&self) {
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

    fn command(&self, line: &str) -> Command {
        // The home is no part of the folder: a folder with the home in it is captured by no command.
        let (now, home) = (self.now().join("my work"), self.now().join("home"));
        let program = Path::new(env!("CARGO_BIN_EXE_milepost"));
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", program.parent().unwrap().display());
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(now).env_clear();
        command.env("PATH", path).env("HOME", &home).env("USER", "ada");
        command.env("MILEPOST_USER_CONFIG", "").env("LANG", "C.UTF-8");
        command.stdin(Stdio::null());
        command
    }

    /// Runs a line in the shell. Returns its exit code and what it printed.
    fn run(&self, line: &str) -> (i32, String) {
        let ran = self.command(line).output().unwrap();
        let text = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (ran.status.code().unwrap_or(-1), text.concat())
    }

    /// Returns the first line of a command that does not end, and ends it.
    fn first_line(&self, line: &str) -> Option<String> {
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

    /// Puts a copy in the place of the folder. A copy of a store is trusted by this.
    fn copy(&self) -> Copied<'_> {
        let [now, aside] = ["now", "aside"].map(|name| self.dir.path().join(name));
        fs::rename(&now, &aside).unwrap();
        let copied = Command::new("cp").arg("-a").args([&aside, &now]).status();
        assert!(copied.unwrap().success());
        if self.now().join("my work/.milepost/store").is_file() {
            self.run("milepost trust --yes");
        }
        Copied(self)
    }

    fn put_back(&self, _: Copied<'_>) {
        let [now, aside] = ["now", "aside"].map(|name| self.dir.path().join(name));
        fs::remove_dir_all(&now).unwrap();
        fs::rename(&aside, &now).unwrap();
    }
}

/// A stage whose folder is a copy.
struct Copied<'a>(&'a Stage);

impl std::ops::Deref for Copied<'_> {
    type Target = Stage;

    fn deref(&self) -> &Stage {
        self.0
    }
}
