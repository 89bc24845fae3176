//! Words that other programs have for what Milepost does.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args;
use crate::error::{Failure, USAGE};
use crate::output::nearest::{did_you_mean, nearest};
use crate::output::printable;

/// Words of other programs, and the command that does it here.
const WORDS: [(&[&str], &str); 13] = [
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

/// Returns the failure for an unknown command whose word is known elsewhere.
pub fn failure(error: &clap::Error) -> Option<Failure> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let known = WORDS.iter().find(|(words, _)| words.contains(&word.to_lowercase().as_str()));
    let hint = known.map(|(_, hint)| (*hint).to_owned()).or_else(|| near(error, word))?;
    let message = format!("there is no command `{}`", printable(word));
    Some(Failure::new(message).code_of(USAGE).hint(hint))
}

/// Returns the question about near commands, where clap has none.
fn near(error: &clap::Error, word: &str) -> Option<String> {
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let command = args::command();
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
            args::command().get_subcommands().map(|one| one.get_name().to_owned()).collect();
        for (words, hint) in WORDS {
            for word in words {
                assert!(!commands.iter().any(|command| command == word), "{word}");
                let asked = args::command().try_get_matches_from(["milepost", word]);
                assert!(failure(&asked.unwrap_err()).is_some(), "{word}");
            }
            for named in hint.split("`milepost ").skip(1) {
                let name = named.split([' ', '`']).next().unwrap();
                assert!(commands.iter().any(|command| command == name), "{name}");
            }
        }
        let other = args::command().try_get_matches_from(["milepost", "frobnicate"]);
        assert!(failure(&other.unwrap_err()).is_none());
    }
}
