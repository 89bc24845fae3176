//! `files`: what a capture holds, and what it left out.

use milepost::Engine;
use milepost_workspace::{EntryKind, Snapshot, SnapshotEntry, TreePath};
use serde::Serialize;
use serde_json::json;

use super::captured;
use crate::args;
use crate::error::Result;
use crate::output::{Out, big};

pub fn run(engine: &Engine, args: &args::Files, out: &mut Out) -> Result<()> {
    let snapshot = captured::snapshot(engine, &args.address)?;
    let within = match &args.path {
        Some(path) => Some(captured::tree_path(path)?),
        None => None,
    };
    if args.skips {
        return skips(&snapshot, within.as_ref(), out);
    }
    if let Some(path) = &within
        && snapshot.entry(path)?.is_none()
    {
        return Err(captured::nothing_at(path, &args.address));
    }
    let mut list = List::default();
    for entry in snapshot.entries() {
        let entry = entry?;
        match &within {
            Some(within) if entry.path.is_in(within) => {}
            // What is below a path stands together.
            Some(_) if list.any => break,
            Some(_) => continue,
            None => {}
        }
        match out.json {
            true => list.json(&captured::form(&entry.path, &entry.item), out)?,
            false => list.line(&line(&entry), out)?,
        }
    }
    list.end("the folder was empty", out)
}

fn line(SnapshotEntry { path, item, .. }: &SnapshotEntry) -> String {
    let mode = captured::mode_line(item);
    match &item.kind {
        EntryKind::Link { target } => {
            let target = milepost_workspace::PathBytes(target.clone());
            format!("{mode} {:>12} {path} -> {target}", "-")
        }
        kind => match kind.file_len() {
            Some(len) => format!("{mode} {len:>12} {path}"),
            None => format!("{mode} {:>12} {path}", "-"),
        },
    }
}

fn skips(snapshot: &Snapshot, within: Option<&TreePath>, out: &mut Out) -> Result<()> {
    let mut list = List::default();
    for skip in snapshot.skips() {
        let skip = skip?;
        let is_in = |within: &TreePath| match skip.path.as_bytes().strip_prefix(within.as_bytes()) {
            Some(rest) => matches!(rest.first(), None | Some(b'/')),
            None => false,
        };
        if !within.is_none_or(is_in) {
            continue;
        }
        let reason = skip.reason.name();
        if out.json {
            let form = json!({"path": skip.path, "reason": reason, "size": big(skip.size)});
            list.json(&form, out)?;
        } else {
            list.line(&format!("{reason:8} {:>12} {}", skip.size, skip.path), out)?;
        }
    }
    list.end("nothing was left out", out)
}

/// A list that is printed while it is read.
#[derive(Default)]
struct List {
    any: bool,
}

impl List {
    fn line(&mut self, line: &str, out: &mut Out) -> Result<()> {
        self.any = true;
        Ok(out.line(line)?)
    }

    fn json(&mut self, form: &impl Serialize, out: &mut Out) -> Result<()> {
        out.raw(if self.any { "," } else { "[" })?;
        self.any = true;
        Ok(out.raw(&serde_json::to_string(form)?)?)
    }

    fn end(&self, none: &str, out: &mut Out) -> Result<()> {
        match (out.json, self.any) {
            (true, true) => Ok(out.line("]")?),
            (true, false) => Ok(out.line("[]")?),
            (false, true) => Ok(()),
            (false, false) => Ok(out.line(none)?),
        }
    }
}
