//! Comparison of two contents, line by line.

use std::io::Read as _;
use std::time::Duration;

use milepost_workspace::{EntryKind, Item, Snapshot, TreePath};
use similar::{ChangeTag, TextDiff, TextDiffConfig};

use crate::backend::captures;
use crate::error::Result;
use crate::output::{Out, Style};

/// Number of first bytes in which a zero byte tells that a file is binary.
const LOOKED_AT: u64 = 8 << 10;

/// Largest file that is compared line by line, in bytes.
const TEXT_MAX: u64 = 16 << 20;

/// Time limit of the search for the shortest difference. After it, any difference will do.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lines of context around a change.
const AROUND: usize = 3;

/// Result of comparing two contents.
pub enum Compared {
    /// Both are the same.
    Same,
    /// One of them is binary.
    Binary,
    /// One of them is too large.
    Large,
    /// Both are text.
    Lines(Texts),
}

/// Two different texts.
pub struct Texts {
    before: String,
    after: String,
}

enum Content {
    Text(String),
    Binary,
    Large,
}

/// Compares the entry at a path of a capture with one of another capture. A missing entry counts as
/// an empty text.
pub fn compare(
    (before, from): (&Snapshot, Option<(TreePath, Item)>),
    (after, to): (&Snapshot, Option<(TreePath, Item)>),
) -> Result<Compared> {
    if let (Some((_, from)), Some((_, to))) = (&from, &to)
        && same(from, to)
    {
        return Ok(Compared::Same);
    }
    let content = |snapshot, side: Option<(TreePath, Item)>| match side {
        Some((path, item)) => content(snapshot, &path, &item),
        None => Ok(Content::Text(String::new())),
    };
    Ok(match (content(before, from)?, content(after, to)?) {
        (Content::Text(before), Content::Text(after)) => Compared::Lines(Texts { before, after }),
        (Content::Binary, _) | (_, Content::Binary) => Compared::Binary,
        _ => Compared::Large,
    })
}

fn same(a: &Item, b: &Item) -> bool {
    match (&a.kind, &b.kind) {
        (EntryKind::Link { target: a }, EntryKind::Link { target: b }) => a == b,
        (a, b) => a.is_file() && a.file_hash() == b.file_hash(),
    }
}

fn content(snapshot: &Snapshot, path: &TreePath, item: &Item) -> Result<Content> {
    if let EntryKind::Link { target } = &item.kind {
        return Ok(text(target.to_vec()));
    }
    let mut file = snapshot.read(path)?;
    let mut bytes = Vec::new();
    let front = file.by_ref().take(LOOKED_AT).read_to_end(&mut bytes);
    front.map_err(|error| captures::unreadable(path, error))?;
    if bytes.contains(&0) {
        return Ok(Content::Binary);
    }
    if item.kind.file_len() > Some(TEXT_MAX) {
        return Ok(Content::Large);
    }
    file.read_to_end(&mut bytes).map_err(|error| captures::unreadable(path, error))?;
    Ok(text(bytes))
}

fn text(bytes: Vec<u8>) -> Content {
    match String::from_utf8(bytes) {
        Ok(text) => Content::Text(text),
        Err(_) => Content::Binary,
    }
}

/// Splits a text into lines with their ends. A lone carriage return ends no line.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

impl Texts {
    /// Compares two texts.
    pub fn new(before: String, after: String) -> Self {
        Self { before, after }
    }

    /// Returns `true` if both are empty, as for an empty file that was added or removed.
    pub fn are_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// Returns the numbers of added and of removed lines.
    pub fn counts(&self) -> (u64, u64) {
        let (before, after) = (lines(&self.before), lines(&self.after));
        let (mut come, mut gone) = (0, 0);
        for op in diff(&before, &after).ops() {
            if op.tag() != similar::DiffTag::Equal {
                come += op.new_range().len() as u64;
                gone += op.old_range().len() as u64;
            }
        }
        (come, gone)
    }

    /// Prints the differences as a unified diff without its header.
    pub fn print(&self, out: &mut Out) -> Result<()> {
        let (before, after) = (lines(&self.before), lines(&self.after));
        let diff = diff(&before, &after);
        for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
            let header = out.style(Style::Name, &hunk.header().to_string());
            out.line(header)?;
            for change in hunk.iter_changes() {
                let value: &str = change.value();
                let line = value.strip_suffix('\n');
                let shown = out.line_of_file(line.unwrap_or(value));
                let shown = match change.tag() {
                    ChangeTag::Equal => format!(" {shown}"),
                    ChangeTag::Insert => out.style(Style::Good, &format!("+{shown}")),
                    ChangeTag::Delete => out.style(Style::Bad, &format!("-{shown}")),
                };
                out.line(shown)?;
                if line.is_none() {
                    out.line("\\ No newline at end of file")?;
                }
            }
        }
        Ok(())
    }
}

fn diff<'a>(before: &[&'a str], after: &[&'a str]) -> TextDiff<'a, 'a, str> {
    TextDiffConfig::default().newline_terminated(true).timeout(PATIENCE).diff_slices(before, after)
}
