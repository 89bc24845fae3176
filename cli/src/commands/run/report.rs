//! Messages about a command that ran.

use milepost::{Checkpoint, Engine, Hash};
use milepost_workspace::{FileChanges, Item, Snapshot};
use serde_json::{Value, json};

use super::outcome::Outcome;
use super::{Begun, Done};
use crate::error::Result;
use crate::output::{Out, big, count, duration, grouped, note, words};

/// Numbers of changed files and folders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    created: u64,
    changed: u64,
    deleted: u64,
    renamed: u64,
    /// Folders that were created or deleted, or have other permission bits.
    folders: u64,
}

impl Changes {
    /// Compares two captures.
    pub fn between(engine: &Engine, before: Hash, after: Hash) -> Result<Self> {
        if before == after {
            return Ok(Self::default());
        }
        let after = Snapshot::of(engine, after)?;
        let changes = Snapshot::of(engine, before)?.diff(&after)?;
        Ok(Self::of(&changes))
    }

    fn of(changes: &FileChanges) -> Self {
        let mut counts = Self::default();
        let folder = |item: &Item| item.kind.is_directory();
        let mut count = |all: &mut dyn Iterator<Item = &Item>| {
            let (folders, files): (Vec<_>, Vec<_>) = all.partition(|item| folder(item));
            counts.folders += folders.len() as u64;
            files.len() as u64
        };
        let created = count(&mut changes.added.iter().map(|entry| &entry.item));
        let deleted = count(&mut changes.removed.iter().map(|entry| &entry.item));
        let both = changes.changed.iter().chain(&changes.modes);
        let changed = count(&mut both.map(|change| &change.after));
        Self {
            created,
            changed,
            deleted,
            renamed: changes.renamed.len() as u64,
            folders: counts.folders,
        }
    }

    fn form(&self) -> Value {
        json!({
            "created": big(self.created),
            "changed": big(self.changed),
            "deleted": big(self.deleted),
            "renamed": big(self.renamed),
            "folders": big(self.folders),
        })
    }

    fn describe(&self) -> String {
        if *self == Self::default() {
            return "nothing changed in the folder".into();
        }
        let (created, changed) = (grouped(self.created), grouped(self.changed));
        let deleted = grouped(self.deleted);
        let mut said = format!("{created} created, {changed} changed, {deleted} deleted");
        if self.renamed > 0 {
            said.push_str(&format!(", {} renamed", grouped(self.renamed)));
        }
        if self.folders > 0 {
            said.push_str(&format!(", {}", count(self.folders, "folder")));
        }
        said
    }
}

fn place(checkpoint: &Checkpoint) -> String {
    words::address(&checkpoint.task, checkpoint.lineage, checkpoint.at)
}

/// Prints the result: as JSON on standard output, or in words on standard error, after the
/// command's own output.
pub fn tell(begun: &Begun, outcome: &Outcome, done: &Done, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&form(begun, outcome, done))?);
    }
    let mut said = format!("{}, {}", outcome.describe(), duration(outcome.ms * 1000));
    if let Some(changes) = &done.changes {
        said.push_str(&format!("; {}", changes.describe()));
    }
    note(&said);
    let call = || words::address(&begun.task, begun.lineage, begun.at);
    let before = begun.before.as_ref().map_or_else(call, place);
    let back = match begun.root {
        Some(_) => "rollback",
        None => "restore",
    };
    let after = done.after.as_ref().map(place);
    let after = after.map_or_else(String::new, |after| format!(", after {after}"));
    note(&format!("before {before}{after}; `milepost {back} {before}` goes back"));
    Ok(())
}

fn form(begun: &Begun, outcome: &Outcome, done: &Done) -> Value {
    let side = |checkpoint: &Checkpoint, root: Option<Hash>| {
        json!({
            "checkpoint": checkpoint.id,
            "address": place(checkpoint),
            "root": root,
        })
    };
    json!({
        "task": begun.task,
        "call": begun.call,
        "run": outcome.error.is_none(),
        "exit": outcome.exit,
        "signal": outcome.signal,
        "timed_out": outcome.timed_out,
        "ms": big(outcome.ms),
        "error": outcome.error,
        "bytes": big(outcome.output.bytes),
        "left_out": big(outcome.output.left_out),
        "before": begun.before.as_ref().map(|before| side(before, begun.root)),
        "after": done.after.as_ref().map(|after| side(after, done.root)),
        "changes": done.changes.as_ref().map(Changes::form),
        "recorded": done.failure.is_none(),
        "saved_to": done.saved_to.as_ref().map(|file| file.display().to_string()),
    })
}
