//! Words of a command line before they are parsed: `-20` for `-n 20`, as in git, and the command
//! that a mistake belongs to.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

/// Commands whose `-n` may be left out before a number.
const COUNTED: [&str; 7] =
    ["log", "search", "tasks", "checkpoints", "transcript", "states", "lineages"];

/// A command line.
pub struct CommandLine {
    /// The words, with `-n20` in place of `-20`.
    pub words: Vec<OsString>,
    /// The named command, as in `milepost token create`.
    pub command: String,
}

impl CommandLine {
    /// Reads the words of a command line. The first one is the program.
    pub fn read(root: &Command, words: impl IntoIterator<Item = OsString>) -> Self {
        let mut words = words.into_iter();
        let mut line =
            Self { words: words.next().into_iter().collect(), command: root.get_name().to_owned() };
        let mut current = root;
        let (mut is_value, mut is_open, mut is_named) = (false, true, false);
        for word in words {
            let text = word.to_str().unwrap_or_default();
            if !is_open || std::mem::take(&mut is_value) {
                line.words.push(word);
                continue;
            }
            if text == "--" {
                is_open = false;
            } else if text.starts_with('-') {
                if let Some(count) = count(text).filter(|_| COUNTED.contains(&current.get_name())) {
                    line.words.push(format!("-n{count}").into());
                    continue;
                }
                is_value = takes_value([current, root], text);
            } else if !is_named {
                // Behind the first other word no command is named.
                match current.find_subcommand(OsStr::new(text)) {
                    Some(below) => {
                        current = below;
                        line.command = format!("{} {}", line.command, below.get_name());
                    }
                    None => is_named = true,
                }
            }
            line.words.push(word);
        }
        line
    }
}

/// Returns the digits of `-20`.
fn count(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(digits)
}

/// Returns `true` if the value of this option is the next word.
fn takes_value(commands: [&Command; 2], text: &str) -> bool {
    let valued = |is_asked: &dyn Fn(&Arg) -> bool| {
        let mut all = commands.iter().flat_map(|command| command.get_arguments());
        all.any(|arg| is_asked(arg) && arg.get_action().takes_values())
    };
    if let Some(name) = text.strip_prefix("--") {
        return valued(&|arg| arg.get_long() == Some(name));
    }
    // The rest after the first letter that takes a value is its value.
    let mut letters = text.chars().skip(1);
    let found = letters.find(|letter| valued(&|arg| arg.get_short() == Some(*letter)));
    found.is_some() && letters.next().is_none()
}

/// Returns `true` if the arguments have `--json`, also if they cannot be parsed. Arguments behind
/// `--` belong to another command.
pub fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

    fn read(line: &str) -> (String, String) {
        let words = line.split(' ').map(OsString::from);
        let line = CommandLine::read(&commands::command(), words);
        let words: Vec<String> =
            line.words.into_iter().map(|word| word.into_string().unwrap()).collect();
        (words.join(" "), line.command)
    }

    #[test]
    fn a_dash_and_digits_are_a_count_where_a_command_takes_one() {
        for (line, same) in [
            ("milepost log run -20", "milepost log run -n20"),
            ("milepost log -20 run --full", "milepost log -n20 run --full"),
            ("milepost --store log log run -3", "milepost --store log log run -n3"),
            ("milepost search hello -1", "milepost search hello -n1"),
            ("milepost checkpoints run -2", "milepost checkpoints run -n2"),
            ("milepost tasks -2", "milepost tasks -n2"),
        ] {
            assert_eq!(read(line).0, same);
        }
        for line in [
            "milepost log run -n -20",
            "milepost log run --step -20",
            "milepost log run -fn -20",
            "milepost log run -- -20",
            "milepost log run -20x",
            "milepost log run -",
            "milepost show run -20",
            "milepost run --task t -- kill -9",
        ] {
            assert_eq!(read(line).0, line);
        }
    }

    #[test]
    fn a_mistake_belongs_to_the_command_that_was_named() {
        for (line, command) in [
            ("milepost", "milepost"),
            ("milepost --json", "milepost"),
            ("milepost --color never log run", "milepost log"),
            ("milepost token create --user log", "milepost token create"),
            ("milepost rewind run", "milepost rewind"),
            ("milepost frobnicate", "milepost"),
            ("milepost loog run -3", "milepost"),
            ("milepost bisect start good run", "milepost bisect start"),
            ("milepost bisect run start", "milepost bisect"),
        ] {
            assert_eq!(read(line).1, command, "{line}");
        }
    }
}
