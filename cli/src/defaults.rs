//! Defaults of the user: options that are added to commands, and aliases.
//!
//! The file is `milepost/config.toml` in the configuration folder of the user. A project has none,
//! so that a project from elsewhere changes no command.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Command;

use crate::error::{Failure, Result};

/// Variable that names another file, or none if it is empty.
pub const VARIABLE: &str = "MILEPOST_USER_CONFIG";

/// Table of the aliases, and that of the options of every command.
const ALIAS: &str = "alias";
const EVERYWHERE: &str = "everywhere";

/// The command that prints the help of another one.
const HELP: &str = "help";

/// The content of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// Arguments that are added behind a command, by its name.
    pub added: BTreeMap<String, Vec<String>>,
    /// Words of each alias.
    pub aliases: BTreeMap<String, Vec<String>>,
}

impl Defaults {
    /// Reads the file. Without one there are no defaults.
    pub fn read(command: &Command) -> Result<Self> {
        let Some(file) = named() else {
            return Ok(Self::default());
        };
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(wrong(&file, format!("cannot be read: {error}"))),
        };
        let parsed = Self::parse(&text, command).map_err(|why| wrong(&file, why))?;
        Ok(Self { file: Some(file), ..parsed })
    }

    fn parse(text: &str, command: &Command) -> std::result::Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| {
                1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count()
            });
            format!("is no TOML, at line {line}: {}", error.message())
        })?;
        let mut defaults = Self::default();
        for (name, value) in table {
            let toml::Value::Table(values) = value else {
                return Err(format!("has `{name}` outside of a table, such as [log]"));
            };
            if name == ALIAS {
                for (alias, value) in values {
                    let words = words(&value).ok_or_else(|| {
                        format!("has an alias `{alias}` that is neither a text nor a list of texts")
                    })?;
                    check_alias(command, &alias, &words)?;
                    defaults.aliases.insert(alias, words);
                }
                continue;
            }
            let of = match name.as_str() {
                EVERYWHERE => command,
                name => command
                    .find_subcommand(name)
                    .ok_or_else(|| format!("has a table [{name}], and there is no such command"))?,
            };
            let mut added = Vec::new();
            for (option, value) in values {
                added.extend(argument(command, of, &option, &value)?);
            }
            let name = if name == EVERYWHERE { &name } else { of.get_name() };
            defaults.added.entry(name.to_owned()).or_default().extend(added);
        }
        Ok(defaults)
    }

    /// Replaces an alias, and adds the options that were not given: those of every command in
    /// front of the command, and its own behind it.
    pub fn applied(&self, command: &Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
        if self.added.is_empty() && self.aliases.is_empty() {
            return arguments;
        }
        let mut command = command.clone();
        command.build();
        let Some(at) = place_of_command(&command, &arguments) else {
            return arguments;
        };
        let word = |at: usize| arguments.get(at).map(|word| word.to_string_lossy().into_owned());
        let is_help = word(at).is_some_and(|word| word == HELP);
        let at = at + usize::from(is_help);
        if let Some(words) = word(at).and_then(|word| self.aliases.get(&word)) {
            let taken = if is_help { 1 } else { words.len() };
            arguments.splice(at..=at, words.iter().take(taken).map(OsString::from));
        }
        let name = arguments.get(at).map(|word| word.to_string_lossy().into_owned());
        let Some(found) = name.and_then(|name| command.find_subcommand(name)).filter(|_| !is_help)
        else {
            return arguments;
        };
        let mut given = given(found, &arguments);
        // A store that the environment names, such as that of the command that called this one.
        for (variable, option) in [("MILEPOST_STORE", "store"), ("MILEPOST_SERVER", "server")] {
            if std::env::var_os(variable).is_some_and(|value| !value.is_empty()) {
                given.insert(option.to_owned());
            }
        }
        let own = self.added.get(found.get_name()).into_iter().flatten();
        let own: Vec<_> = own.filter(|option| is_free(found, option, &given)).collect();
        let all = self.added.get(EVERYWHERE).into_iter().flatten();
        let all: Vec<_> = all.filter(|option| is_free(found, option, &given)).collect();
        arguments.splice(at + 1..at + 1, own.into_iter().map(OsString::from));
        arguments.splice(1..1, all.into_iter().map(OsString::from));
        arguments
    }
}

/// Returns the long names of the options among the arguments of `milepost`.
fn given(of: &Command, arguments: &[OsString]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for argument in arguments.iter().skip(1).take_while(|argument| *argument != "--") {
        let text = argument.to_string_lossy();
        if let Some(long) = text.strip_prefix("--") {
            names.insert(long.split('=').next().unwrap_or_default().to_owned());
        } else if let Some(letters) = text.strip_prefix('-') {
            // The letter of `-n5`, and the count of `-20`.
            let of_letter = |letter: char| {
                let mut all = of.get_arguments();
                let found = all.find(|one| one.get_short() == Some(letter));
                found.and_then(|one| one.get_long()).map(str::to_owned)
            };
            names.extend(letters.chars().filter_map(of_letter));
            if letters.starts_with(|c: char| c.is_ascii_digit()) {
                names.extend(of_letter('n'));
            }
        }
    }
    names
}

/// Returns `true` if neither the option of an argument was given, nor one that excludes it.
fn is_free(of: &Command, argument: &str, given: &BTreeSet<String>) -> bool {
    let name = argument.trim_start_matches('-').split('=').next().unwrap_or_default();
    let find = |name: &str| of.get_arguments().find(|one| one.get_long() == Some(name));
    let Some(own) = find(name) else {
        return true;
    };
    let excludes = |a: &clap::Arg, b: &clap::Arg| {
        of.get_arg_conflicts_with(a).iter().any(|one| one.get_id() == b.get_id())
    };
    given.iter().all(|other| {
        let other = find(other);
        other.is_none_or(|other| {
            other.get_id() != own.get_id() && !excludes(own, other) && !excludes(other, own)
        })
    })
}

/// Returns `true` if the arguments do without defaults, so that a wrong file does not matter.
pub fn is_without(arguments: &[OsString]) -> bool {
    const WORDS: [&str; 7] = [HELP, "-h", "--help", "-V", "--version", "webhook", "demo-worker"];
    let mut words = arguments.iter().skip(1).take_while(|word| *word != "--");
    words.any(|word| WORDS.iter().any(|known| *word == **known))
}

/// Returns the file, unless the variable is empty.
fn named() -> Option<PathBuf> {
    if let Some(file) = std::env::var_os(VARIABLE) {
        return Some(PathBuf::from(file)).filter(|file| !file.as_os_str().is_empty());
    }
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let folder = folder.map(PathBuf::from).filter(|folder| folder.is_absolute());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    Some(folder.or_else(home)?.join("milepost").join("config.toml"))
}

fn wrong(file: &std::path::Path, why: String) -> Failure {
    Failure::new(format!("your configuration {} {why}", file.display()))
        .hint(format!("correct it, or leave it out once: {VARIABLE}= milepost .."))
}

/// Returns the words of an alias: a list, or a text that is divided at white space.
fn words(value: &toml::Value) -> Option<Vec<String>> {
    match value {
        toml::Value::String(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        toml::Value::Array(all) => all.iter().map(|word| Some(word.as_str()?.to_owned())).collect(),
        _ => None,
    }
}

fn check_alias(
    command: &Command,
    alias: &str,
    words: &[String],
) -> std::result::Result<(), String> {
    if command.find_subcommand(alias).is_some() {
        return Err(format!("has an alias `{alias}`, which is the name of a command"));
    }
    let first = words.first().map(String::as_str).unwrap_or_default();
    match command.find_subcommand(first) {
        Some(_) => Ok(()),
        None => Err(format!("has an alias `{alias}` of `{first}`, and there is no such command")),
    }
}

/// Returns the argument of an option; none for a switch that is off.
fn argument(
    command: &Command,
    of: &Command,
    option: &str,
    value: &toml::Value,
) -> std::result::Result<Option<String>, String> {
    let mut all = of.get_arguments().chain(command.get_arguments());
    let found = all.find(|argument| argument.get_long() == Some(option));
    let name = of.get_name();
    let found = found.ok_or_else(|| format!("has `{option}` of `{name}`: no such option"))?;
    let takes_value = found.get_action().takes_values();
    match value {
        toml::Value::Boolean(false) if !takes_value => Ok(None),
        toml::Value::Boolean(true) if !takes_value => Ok(Some(format!("--{option}"))),
        toml::Value::String(text) if takes_value => Ok(Some(format!("--{option}={text}"))),
        toml::Value::Integer(number) if takes_value => Ok(Some(format!("--{option}={number}"))),
        _ if takes_value => Err(format!("has `{option}` of `{name}`, which is a text or a number")),
        _ => Err(format!("has `{option}` of `{name}`, which is true or false")),
    }
}

/// Returns the index of the command among the arguments of `milepost`.
fn place_of_command(command: &Command, arguments: &[OsString]) -> Option<usize> {
    let mut is_value = false;
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let text = argument.to_string_lossy();
        if is_value {
            is_value = false;
        } else if let Some(long) = text.strip_prefix("--") {
            let mut all = command.get_arguments();
            let option = all.find(|argument| argument.get_long() == Some(long));
            is_value = option.is_some_and(|option| option.get_action().takes_values());
        } else if !text.starts_with('-') {
            return Some(at);
        }
    }
    None
}

/// Returns the name of the user of new tasks: USER, USERNAME or `local`.
pub fn current_user() -> String {
    let named = ["USER", "USERNAME"].iter().filter_map(|name| std::env::var(name).ok());
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "local".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{Args, command};

    const FILE: &str = r#"
        [everywhere]
        local = true
        [log]
        utc = true
        last = 20
        [checkpoint]
        user = "ana"
        [alias]
        l = "log --events"
        s = ["search", "-n", "two words"]
    "#;

    fn parse(file: &str) -> std::result::Result<Defaults, String> {
        Defaults::parse(file, &command())
    }

    fn applied(file: &str, line: &str) -> String {
        let arguments = line.split(' ').map(OsString::from).collect();
        let applied = parse(file).unwrap().applied(&command(), arguments);
        applied.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_are_added_behind_the_command_and_aliases_are_replaced() {
        let file = FILE.replace("[checkpoint]\n        user = \"ana\"\n", "");
        let of = |line| applied(&file, line);
        assert_eq!(of("milepost log t"), "milepost --local log --last=20 --utc t");
        assert_eq!(
            of("milepost --store log l t -n 5"),
            "milepost --local --store log log --utc --events t -n 5"
        );
        assert_eq!(of("milepost log t -20"), "milepost --local log --utc t -20");
        assert_eq!(of("milepost s x"), "milepost --local search -n two words x");
        assert_eq!(of("milepost tasks --local"), "milepost tasks --local");
        assert_eq!(of("milepost run -- log --local"), "milepost --local run -- log --local");
        assert_eq!(of("milepost help l"), "milepost help log");
        assert_eq!(of("milepost help"), "milepost help");
        assert_eq!(of("milepost nothing"), "milepost nothing");
        assert_eq!(of("milepost --help"), "milepost --help");
        assert_eq!(applied("", "milepost log t"), "milepost log t");
    }

    #[test]
    fn an_option_that_was_given_anywhere_takes_precedence() {
        use clap::FromArgMatches as _;
        let parsed = |file: &str, line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let words = parse(file).unwrap().applied(&command(), words);
            let found = command().try_get_matches_from(words).unwrap();
            Args::from_arg_matches(&found).unwrap()
        };
        let [store, server] = ["store = \"a\"", "server = \"http://a\""];
        for line in ["milepost --store b tasks", "milepost tasks --store b"] {
            for file in [store, server] {
                let args = parsed(&format!("[everywhere]\n{file}"), line);
                assert_eq!((args.store.unwrap(), args.server), (PathBuf::from("b"), None));
            }
        }
        let args = parsed("[everywhere]\nwait = \"1s\"\ncolor = \"never\"", "milepost tasks");
        assert_eq!(args.wait, Some(std::time::Duration::from_secs(1)));
        let listed = parse("[checkpoint]\nwait = \"1s\"\ncolor = \"never\"");
        assert_eq!(listed.unwrap().added["checkpoint"].len(), 2);
    }

    #[test]
    fn a_file_that_is_wrong_is_refused_with_the_reason() {
        for (file, why) in [
            ("utc = true", "outside of a table"),
            ("[logg]\nutc = true", "no such command"),
            ("[log]\nutcc = true", "no such option"),
            ("[log]\nutc = 3", "true or false"),
            ("[log]\nlast = true", "a text or a number"),
            ("[alias]\nlog = \"tasks\"", "the name of a command"),
            ("[alias]\nl = \"lo\"", "no such command"),
            ("[alias]\nl = 3", "neither a text"),
            ("[log", "no TOML"),
        ] {
            let said = parse(file).unwrap_err();
            assert!(said.contains(why), "{file}: {said}");
        }
    }
}
