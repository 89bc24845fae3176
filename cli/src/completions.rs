//! Completions for a shell: tasks, and the checkpoints of one.
//!
//! They come from the store, or from the program that has it open. Without an answer there are
//! none. Nothing is printed: a shell would show it in the middle of a line.

use std::ffi::OsStr;

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::backend::{Backend, CheckpointsRequest, Local};
use crate::commands;
use crate::output::words::encode;
use crate::store_locator::{Opened, StoreArgs};

/// Largest number of candidates.
const MOST: usize = 200;

/// Returns the command line with completions of tasks and addresses.
pub fn command() -> Command {
    let mut command = commands::command();
    let names: Vec<String> =
        command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, |one| {
            one.mut_args(|arg| match arg.get_id().as_str() {
                "task" | "pattern" => arg.add(ArgValueCompleter::new(tasks)),
                "address" | "addresses" | "before" | "after" => {
                    arg.add(ArgValueCompleter::new(addresses))
                }
                _ => arg,
            })
        });
    }
    command
}

/// Completes the ids of tasks.
fn tasks(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_str().unwrap_or_default();
    candidates_of(|source| {
        let page = source.tasks(None, MOST, None).ok()?;
        let tasks = page.items.into_iter().map(|task| {
            let help = format!("{} events, of {}", task.events, task.user);
            CompletionCandidate::new(encode(&task.id)).help(Some(help.into()))
        });
        Some(fitting(tasks, begun))
    })
}

/// Completes addresses: tasks, and their labels after an `@`.
fn addresses(begun: &OsStr) -> Vec<CompletionCandidate> {
    let text = begun.to_str().unwrap_or_default();
    let Some((front, _)) = text.split_once('@') else {
        return tasks(begun);
    };
    let task = front.split('/').next().unwrap_or_default();
    candidates_of(|source| {
        let page = source.checkpoints(&CheckpointsRequest {
            task: Some(source.task(task).ok()?.id),
            limit: MOST,
            ..CheckpointsRequest::default()
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

/// Returns `true` if a shell takes a text as one plain word. Names come from any writer of the
/// store, and bash inserts a candidate as it is.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "-._@~/%:+=,".contains(c))
}

/// Returns the candidates that continue what is begun, without those that a shell would interpret.
fn fitting(
    all: impl Iterator<Item = CompletionCandidate>,
    begun: &str,
) -> Vec<CompletionCandidate> {
    let fits = |one: &CompletionCandidate| {
        let value = one.get_value().to_string_lossy();
        value.starts_with(begun) && is_plain(&value)
    };
    all.filter(fits).collect()
}

/// Asks the store for candidates. There are none without a store.
fn candidates_of(
    ask: impl FnOnce(&dyn Backend) -> Option<Vec<CompletionCandidate>>,
) -> Vec<CompletionCandidate> {
    let answer = match StoreArgs::default().find_quietly() {
        Some(Opened::Local(engine)) => {
            let answer = ask(&Local::new(&engine));
            // The store was only read: a failed close loses nothing.
            let _ = engine.close();
            answer
        }
        Some(Opened::Remote(there)) => ask(&there),
        None => None,
    };
    answer.unwrap_or_default()
}
