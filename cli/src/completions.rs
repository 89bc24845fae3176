//! What a shell completes: tasks, and the checkpoints of one.
//!
//! It asks the store that is there, or the program that has it open; where none answers nothing is
//! offered. Nothing is printed: a shell would show it in the middle of a line.

use std::ffi::OsStr;

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::args;
use crate::backend::{Backend, CheckpointsAsked, Local};
use crate::commands::encode;
use crate::store_locator::{Opened, StoreArgs};

/// How many are offered.
const MOST: usize = 200;

/// The command with what is completed behind each of its words.
pub fn command() -> Command {
    let mut command = args::command();
    let names: Vec<String> =
        command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, |one| {
            one.mut_args(|arg| match arg.get_id().as_str() {
                "task" => arg.add(ArgValueCompleter::new(tasks)),
                "address" | "before" | "after" => arg.add(ArgValueCompleter::new(addresses)),
                _ => arg,
            })
        });
    }
    command
}

/// Ids of tasks.
fn tasks(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_str().unwrap_or_default();
    asked(|source| {
        let page = source.tasks(None, MOST, None).ok()?;
        let tasks = page.items.into_iter().map(|task| {
            let help = format!("{} events, of {}", task.events, task.user);
            CompletionCandidate::new(encode(&task.id)).help(Some(help.into()))
        });
        Some(fitting(tasks, begun))
    })
}

/// Addresses: tasks, and behind an `@` their labels.
fn addresses(begun: &OsStr) -> Vec<CompletionCandidate> {
    let text = begun.to_str().unwrap_or_default();
    let Some((front, _)) = text.split_once('@') else {
        return tasks(begun);
    };
    let task = front.split('/').next().unwrap_or_default();
    asked(|source| {
        let page = source.checkpoints(&CheckpointsAsked {
            task: Some(source.task(task).ok()?.id),
            limit: MOST,
            ..CheckpointsAsked::default()
        });
        let labelled = page.ok()?.items.into_iter().filter_map(|checkpoint| {
            let label = encode(checkpoint.label.as_deref()?);
            let help = format!("@{} of {}", checkpoint.at, checkpoint.time);
            let address = format!("{front}@{label}");
            Some(CompletionCandidate::new(address).help(Some(help.into())))
        });
        Some(fitting(labelled, text))
    })
}

fn fitting(
    all: impl Iterator<Item = CompletionCandidate>,
    begun: &str,
) -> Vec<CompletionCandidate> {
    let fits = |one: &CompletionCandidate| one.get_value().to_string_lossy().starts_with(begun);
    all.filter(fits).collect()
}

/// What a source says, where there is one.
fn asked(
    ask: impl FnOnce(&dyn Backend) -> Option<Vec<CompletionCandidate>>,
) -> Vec<CompletionCandidate> {
    let answer = match StoreArgs::default().find_quietly() {
        Some(Opened::Local(engine)) => {
            let answer = ask(&Local(&engine));
            // It was only read.
            let _ = engine.close();
            answer
        }
        Some(Opened::Remote(there)) => ask(&there),
        None => None,
    };
    answer.unwrap_or_default()
}
