//! Scenes: shell lines in a folder of their own, and the commands that they print.
//!
//! ```text
//! ## NAME         a scene; one that is named `recorded ..` begins with runs and a captured folder
//! $ LINE          a line for the shell, which succeeds
//! ? LINE          a line that prints hints; each command in it is executed in the state after it
//! = NAME VALUE    the value of a name in capitals in a printed command
//! ! CODE BEGIN    the exit code of printed commands that begin so, if it is not 0
//! + BEGIN         printed commands that begin so wait for a signal
//! % LINE | TEXT | KEYS | TEXT ..   a line run on a terminal: waits for a text, presses keys
//!                 (`<Enter>`, `<Down>`; `<Run LINE>` runs a line before them), and so on; each
//!                 command on the screens is executed after it
//! : FILE TEXT     a text that a test in this file asserts, as if it was printed
//! @ cut ADDRESS DIR      a restore of a folder that is cut short before it is in the log
//! @ ended ADDRESS DIR    one that is cut short behind that
//! ```

use std::collections::BTreeMap;

use crate::hints::sources::Hint;
use crate::hints::stage::Stage;

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

/// Output of a command, with single spaces.
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
                && "$?=!+@%:".contains(kind)
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

    /// Plays the scene. Returns its output, and the errors.
    pub fn play(&self) -> (Vec<Printed>, Vec<String>) {
        let (mut printed, mut wrong) = (Vec::new(), Vec::new());
        let stage = Stage::new();
        let mut values: BTreeMap<&str, &str> = VALUES.into_iter().collect();
        for (_, line) in self.lines.iter().filter(|(kind, _)| *kind == '=') {
            values.extend(line.split_once(' '));
        }
        // A copy of a folder is another folder, and a restore in the first one is not of it.
        let is_played_again = self.lines.iter().any(|(kind, _)| *kind == '@');
        self.begin(&stage);
        for (at, (kind, line)) in self.lines.iter().enumerate() {
            let (code, text) = stage.line(*kind, line);
            if !matches!(kind, '?' | '%' | ':') {
                if code != 0 {
                    wrong.push(format!("{}: {kind} {line}: exit code {code}\n{text}", self.name));
                }
                continue;
            }
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let commands = commands(&text, line);
            if commands.is_empty() {
                wrong.push(format!("{}: ? {line}: prints no command\n{text}", self.name));
            }
            printed.push(Printed(format!("{text} {}", without_store(&text))));
            for command in commands {
                let copy = if is_played_again { None } else { Some(stage.copy()) };
                if let Some(why) = self.execute(&stage, &command, &values) {
                    wrong.push(format!("{}: ? {line}\n{text}\n{why}", self.name));
                }
                match copy {
                    Some(copy) => stage.put_back(copy),
                    None => self.play_again(&stage, at),
                }
            }
        }
        (printed, wrong)
    }

    fn begin(&self, stage: &Stage) {
        if self.name.starts_with("recorded") {
            stage.record();
        }
    }

    /// Recreates the folder as it was after a line.
    fn play_again(&self, stage: &Stage, until: usize) {
        stage.clear();
        self.begin(stage);
        for (kind, line) in &self.lines[..=until] {
            stage.line(*kind, line);
        }
    }

    fn of(&self, asked: char, command: &str) -> Option<&str> {
        let lines = self.lines.iter().filter(|(kind, _)| *kind == asked);
        // An option is tried in the asked line, which may begin with others.
        let behind = command.rsplit_once(" milepost ").map(|(_, own)| own);
        let own = command.strip_prefix("milepost ").or(behind);
        let begin = |line: &&str| {
            let begin = if asked == '!' { line.split_once(' ').unwrap().1 } else { line };
            own.is_some_and(|own| own.starts_with(begin))
        };
        // The longest one is the most exact.
        lines.map(|(_, line)| line.as_str()).filter(begin).max_by_key(|line| line.len())
    }

    /// Executes a printed command. Returns the errors.
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

/// Returns the commands in backquotes, and of options the asked line with the option, or the
/// command before it.
fn commands(text: &str, line: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut parts = text.split('`');
    while let (Some(before), Some(quoted)) = (parts.next(), parts.next()) {
        let command = match quoted.split_once(' ') {
            _ if quoted.starts_with("--")
                && before.ends_with("; with ")
                && !commands.is_empty() =>
            {
                with_option(&commands[commands.len() - 1], quoted)
            }
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
        // A path with a space is quoted.
        let end = if part.starts_with('\'') { "' " } else { " " };
        let command = part.split_once(end).map_or(part, |(_, command)| command);
        all.push_str(&format!("`milepost {command}"));
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
