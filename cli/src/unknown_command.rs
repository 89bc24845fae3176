//! Words and options that other programs, or other commands, have for what a command does.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::commands;
use crate::error::{Failure, USAGE};
use crate::output::nearest::{did_you_mean, nearest};
use crate::output::{printable, shell_word};

/// Words of other programs, and the command that does it here.
const WORDS: [(&[&str], &str); 14] = [
    (&["version"], "`milepost --version` prints it"),
    (&["list", "ls", "ps", "threads"], "`milepost tasks` lists the tasks"),
    (&["history", "events", "steps"], "`milepost log TASK` prints a run step by step"),
    (&["grep", "find", "query"], "`milepost search TEXT` searches all tasks"),
    (
        &["status", "health", "info"],
        "`milepost doctor` reports the condition of the store, `milepost stats` its size",
    ),
    (&["fork"], "`milepost branch ADDRESS` opens a lineage at a point"),
    (
        &["revert", "reset", "back", "goto"],
        "`milepost restore ADDRESS` goes back to a point, `milepost rollback ADDRESS` with the \
         files; `milepost undo TASK` takes it back",
    ),
    (
        &["checkout", "use", "resume-at"],
        "`milepost switch TASK/LINEAGE` continues on another lineage, which `milepost lineages \
         TASK` draws; `milepost restore ADDRESS` continues from an earlier point",
    ),
    (
        &["commit", "save", "snapshot", "add"],
        "`milepost mark LABEL` marks a checkpoint, `milepost capture` captures the files of a \
         folder",
    ),
    (
        &["new", "create", "begin"],
        "`milepost start TASK` starts a task, `milepost init` makes a store",
    ),
    (
        &["web", "dashboard", "browser"],
        "`milepost ui` opens the store in a browser; `milepost checkpoint` is a screen to go back \
         with",
    ),
    (
        &["rm", "remove", "drop"],
        "`milepost delete TASK` deletes a task, `milepost cleanup` removes old checkpoints",
    ),
    (&["cat-state", "get", "value"], "`milepost state ADDRESS` prints the state at a point"),
    (
        &["cost", "usage", "tokens"],
        "`milepost log TASK` shows the tokens of each step where they were recorded",
    ),
];

/// Words and options that a command does not take, and the words that do it.
const OPTIONS: [(&str, &[&str], &str); 14] = [
    ("log", &["--tail", "--head"], "`milepost log TASK -n 5` prints the last steps"),
    ("log", &["--failed", "--errors"], "`milepost log TASK --kind step_failed` has failed steps"),
    ("state", &["--jq", "--query", "--path"], "`milepost state ADDRESS --json` prints it for `jq`"),
    (
        "serve",
        &["--port", "-p", "--host", "--bind"],
        "`milepost serve --listen 127.0.0.1:0` listens on a free port",
    ),
    ("ui", &["--port", "-p", "--host"], "`milepost ui --listen 127.0.0.1:0` takes a free port"),
    ("cleanup", &[""], "`milepost cleanup --task TASK --keep 10` is for one task"),
    ("demo", &[""], "`milepost show demo@LABEL` is a point of its run, as in `demo@iteration-500`"),
    ("capture", &["--dir", "--files"], "`milepost capture DIR --task TASK` captures a folder"),
    ("bisect", &["--dir"], "`milepost bisect TASK --files DIR --run -- COMMAND` has the files"),
    ("mark", &["--label", "-l", "--name"], "`milepost mark TASK LABEL` has the label as a word"),
    ("record", &["--name", "--as", "--id"], "`milepost record FILE --task TASK` names the task"),
    ("restore", &["--to"], "`milepost restore ADDRESS` names the point as a word"),
    ("rewind", &["--limit", "-n", "--last"], "`milepost rewind --list` lists all prompts"),
    ("", &["--format", "--output-format"], "`milepost tasks --json` prints JSON, as all do"),
];

/// Returns the failure for words of a command line whose meaning is known: a word or an option that
/// other programs have. `words` is the line, and `command` what it names.
pub fn failure(error: &clap::Error, command: &str, words: &[OsString]) -> Option<Failure> {
    match error.kind() {
        ErrorKind::UnknownArgument => return unknown_argument(error, command, words),
        ErrorKind::MissingRequiredArgument if command == "milepost diff" => {
            return pointer_to_diff(words);
        }
        ErrorKind::InvalidSubcommand => {}
        _ => return None,
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let known = WORDS.iter().find(|(words, _)| words.contains(&word.to_lowercase().as_str()));
    let hint = known.map(|(_, hint)| (*hint).to_owned()).or_else(|| near(error, word))?;
    let message = format!("there is no command `{}`", printable(word));
    Some(Failure::new(message).code_of(USAGE).hint(hint))
}

/// Returns the failure of an argument that a command does not take. Clap's own tip, to pass an
/// option as a value, is never what was meant.
fn unknown_argument(error: &clap::Error, command: &str, words: &[OsString]) -> Option<Failure> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let name = command.rsplit(' ').next().unwrap_or_default();
    let is_of = |words: &[&str]| {
        words.iter().any(|word| match *word {
            "" => !given.starts_with('-'),
            word => word == given,
        })
    };
    let known =
        OPTIONS.iter().find(|(of, words, _)| (*of == name || of.is_empty()) && is_of(words));
    let hint = match known {
        Some((_, _, hint)) => (*hint).to_owned(),
        None if has_near_option(error, given) => return None,
        None => match address(given, command, words) {
            Some(address) => format!(
                "an address is one word, as in `{}`; `{command} --help` lists what it takes",
                shell_word(&address)
            ),
            None if given.starts_with('/') => {
                format!("`milepost states TASK {}` prints this part of states", shell_word(given))
            }
            None => format!("`{command} --help` lists what it takes"),
        },
    };
    let message = format!("unexpected argument '{}' found", printable(given));
    Some(Failure::new(message).code_of(USAGE).hint(hint))
}

/// Returns `true` if clap's tip names an option that may be meant: its own measure finds `--store`
/// for `--force`.
fn has_near_option(error: &clap::Error, given: &str) -> bool {
    let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg) else {
        return false;
    };
    !nearest(given.trim_start_matches('-'), [similar.trim_start_matches('-')]).is_empty()
}

/// Returns the failure of a `diff` of a part of two states, which it does not have.
fn pointer_to_diff(words: &[OsString]) -> Option<Failure> {
    let is_pointer = |word: &&OsString| word.to_string_lossy().starts_with('/');
    let given = words.get(2..)?.iter().find(is_pointer)?.to_string_lossy();
    let message = format!("`{}` is no file: without --files `diff` is of whole states", given);
    let hint = "`milepost states ADDRESS /POINTER` prints a part of the state at each checkpoint";
    Some(Failure::new(printable(&message)).code_of(USAGE).hint(hint))
}

/// Returns the address that two words were meant to be, as `demo good` for `demo@good`.
fn address(given: &str, command: &str, words: &[OsString]) -> Option<String> {
    let at = words.iter().position(|word| word == given)?;
    let before = words.get(at.checked_sub(1)?)?.to_str()?;
    let is_plain = |word: &str| !word.is_empty() && !word.starts_with('-') && !word.contains('@');
    let name = command.rsplit(' ').next()?;
    // A pointer into the state is no place.
    if !is_plain(given) || given.starts_with('/') || !is_plain(before) || before == name {
        return None;
    }
    let own = commands::command();
    let own = own.find_subcommand(name)?;
    let takes = |id: &str| own.get_positionals().any(|one| one.get_id() == id);
    let sign = match name {
        "switch" => '/',
        _ if takes("address") => '@',
        _ => return None,
    };
    Some(printable(&format!("{before}{sign}{given}")).into_owned())
}

/// Returns the question about near commands, where clap has none.
fn near(error: &clap::Error, word: &str) -> Option<String> {
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let command = commands::command();
    let names = command.get_subcommands().filter(|one| !one.is_hide_set());
    let near = nearest(word, names.map(|one| one.get_name().to_owned()));
    let near = near.into_iter().map(|name| format!("milepost {name}"));
    did_you_mean(&near.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_programs_are_no_commands_and_their_hints_name_commands() {
        let commands: Vec<String> =
            commands::command().get_subcommands().map(|one| one.get_name().to_owned()).collect();
        for (words, hint) in WORDS {
            for word in words {
                assert!(!commands.iter().any(|command| command == word), "{word}");
                let asked = commands::command().try_get_matches_from(["milepost", word]);
                let failure = failure(&asked.unwrap_err(), "milepost", &[]);
                assert!(failure.is_some(), "{word}");
            }
            for named in hint.split("`milepost ").skip(1).filter(|it| !it.starts_with('-')) {
                let name = named.split([' ', '`']).next().unwrap();
                assert!(commands.iter().any(|command| command == name), "{name}");
            }
        }
        let other = commands::command().try_get_matches_from(["milepost", "frobnicate"]);
        assert!(failure(&other.unwrap_err(), "milepost", &[]).is_none());
    }
}
