//! `diff`: differences between the states at two points.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;

use milepost::ErrorKind;
use milepost::state::ChangeKind;
use milepost_api::{ChangeForm, PointForm};
use serde_json::Value;

use super::command::{CliCommand, Examples, Needs, Run};
use super::file_diff;
use super::on_store::needed;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, Style, count, excerpt, hint, printable, shell_word};

/// Longest excerpt of a value, in columns.
const EXCERPT: usize = 80;

/// Compare the states or the files at two points.
#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// The address of the first point.
    pub before: String,
    /// The address of the second point.
    pub after: String,
    /// Compare the captured files, not the states.
    #[arg(long)]
    pub files: bool,
    /// Print values whole, and also the offsets and call ids of messages, which differ by their
    /// position alone.
    #[arg(long, conflicts_with = "files")]
    pub full: bool,
    /// Print only the numbers of added and removed lines of each file.
    #[arg(long, requires = "files")]
    pub stat: bool,
    /// Only files at or below these paths of the folder.
    #[arg(value_name = "PATH", requires = "files")]
    pub paths: Vec<OsString>,
}

impl CliCommand for DiffArgs {
    const EXAMPLES: Examples = &[
        ("diff run@good run", "what has changed since"),
        ("diff run/0 other", "between lineages of two tasks"),
        ("diff run@good run --files", "the files, line by line"),
        ("diff run@good run --json", "a JSON patch (RFC 6902)"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);

    fn needs(&self, usual: Needs, _can_pick: bool) -> Needs {
        Needs { store: self.files, ..usual }
    }
}

fn run(source: &dyn Backend, args: &DiffArgs, out: &mut Out) -> Result<()> {
    if args.files {
        return file_diff::run(needed(source, "`diff --files`")?, args, out);
    }
    let (before, after) = (source.point(&args.before)?, source.point(&args.after)?);
    if out.json {
        return Ok(out.json(&source.patch(&before, &after)?)?);
    }
    let mut changes = source.changes(&before, &after)?;
    if changes.more {
        hint("there are more changes than are answered at once: look at parts of both states");
    }
    if changes.items.is_empty() {
        return Ok(out.line("the states are the same")?);
    }
    let all = changes.items.len();
    changes.items.retain(|change| args.full || !is_position(change));
    for change in &changes.items {
        let line = match args.full {
            true => whole_line(change, out),
            false => line(change, out),
        };
        out.line(line)?;
    }
    let left_out = (all - changes.items.len()) as u64;
    if left_out > 0 {
        let left_out = count(left_out, "changed position");
        let text = format!("({left_out} of messages left out: --full prints them)");
        out.line(out.style(Style::Dim, &text))?;
    }
    let Some(captures) = changes.items.iter().find(|change| change.path == "/workspace") else {
        return Ok(());
    };
    let has = |side: &Option<Value>| side.as_ref().is_some_and(|value| !value.is_null());
    let (from, to) = (shell_word(&args.before), shell_word(&args.after));
    // Only two captures can be compared.
    let only = match (has(&captures.before), has(&captures.after)) {
        (false, _) => Some((&to, &from)),
        (_, false) => Some((&from, &to)),
        _ => None,
    };
    if let Some((with, without)) = only {
        let text =
            format!("no folder was captured before {without}: `milepost files {with}` lists");
        return Ok(out.advice(format!("{text} the files before {with}"))?);
    }
    let differ = match files(source, [&before, &after])? {
        0 => "the captured folders differ".to_owned(),
        1 => "1 captured file differs".to_owned(),
        files => format!("{} differ", count(files, "captured file")),
    };
    Ok(out.advice(format!("{differ}: `milepost diff {from} {to} --files` prints them"))?)
}

/// Returns `true` for an offset or a call id of a message: both differ where the message has
/// another position.
pub fn is_position(change: &ChangeForm) -> bool {
    let mut parts = change.path.split('/').skip(1);
    let place = (parts.next(), parts.next(), parts.next(), parts.next());
    let is_place = matches!(place, (Some("messages"), Some(_), Some("offset" | "call"), None));
    is_place && change.kind == ChangeKind::Replace
}

/// Returns the number of files that differ between the captures that two points see.
fn files(source: &dyn Backend, points: [&PointForm; 2]) -> Result<u64> {
    let mut differ = BTreeMap::new();
    for point in points {
        // A point without a capture has no files.
        let listed = source.files(point, &mut |file| {
            if file.kind != "directory" {
                let content = (file.kind, file.mode, file.hash, file.target);
                match differ.entry(file.path) {
                    Entry::Occupied(same) if *same.get() == content => drop(same.remove()),
                    Entry::Occupied(_) => {}
                    Entry::Vacant(place) => drop(place.insert(content)),
                }
            }
            Ok(())
        });
        match listed {
            Err(failure) if failure.kind() == Some(ErrorKind::NotFound) => {}
            listed => listed?,
        }
    }
    Ok(differ.len() as u64)
}

/// Formats a change on one line, with excerpts of its values.
pub fn line(change: &ChangeForm, out: &Out) -> String {
    formatted(change, out, |value| excerpt(&value.to_string(), EXCERPT))
}

/// Formats a change on one line, with its values whole.
fn whole_line(change: &ChangeForm, out: &Out) -> String {
    formatted(change, out, |value| printable(&value.to_string()).into_owned())
}

fn formatted(change: &ChangeForm, out: &Out, text: impl Fn(&Value) -> String) -> String {
    let value = |value: &Option<Value>| value.as_ref().map(&text).unwrap_or_default();
    let path = printable(&change.path);
    let (before, after) = (value(&change.before), value(&change.after));
    match change.kind {
        ChangeKind::Add => out.style(Style::Good, &format!("+ {path}: {after}")),
        ChangeKind::Remove => out.style(Style::Bad, &format!("- {path}: {before}")),
        ChangeKind::Replace => format!("~ {path}: {before} -> {after}"),
    }
}
