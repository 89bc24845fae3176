//! `diff --files`: differences between the files of two captures.

use milepost::Engine;
use milepost_workspace::{EntryKind, FileChange, FileChanges, Item, Snapshot, TreePath};
use serde_json::{Value, json};

use super::captured_files;
use super::diff::DiffArgs;
use super::text_diff::{self, Compared};
use crate::backend::captures;
use crate::error::Result;
use crate::output::{Out, Style, count, size};

/// An entry of one of the captures.
struct Side {
    path: TreePath,
    item: Item,
}

/// A named difference. At least one of the sides exists.
struct Change {
    name: &'static str,
    from: Option<Side>,
    to: Option<Side>,
}

impl Change {
    /// Returns its path, in the later capture if it exists there.
    fn path(&self) -> Option<&TreePath> {
        self.to.as_ref().or(self.from.as_ref()).map(|side| &side.path)
    }

    fn is_within(&self, paths: &[TreePath]) -> bool {
        let mut sides = [&self.from, &self.to].into_iter().flatten();
        paths.is_empty() || sides.any(|side| paths.iter().any(|path| side.path.is_in(path)))
    }

    fn form(&self) -> Value {
        let mut form = json!({
            "change": self.name,
            "path": self.path(),
            "before": self.from.as_ref().map(|side| captured_files::side(&side.item)),
            "after": self.to.as_ref().map(|side| captured_files::side(&side.item)),
        });
        if let (true, Some(fields)) = (self.renamed(), form.as_object_mut()) {
            let from = self.from.as_ref().map(|side| &side.path);
            fields.insert("from".into(), json!(from));
        }
        form
    }

    fn renamed(&self) -> bool {
        matches!((&self.from, &self.to), (Some(from), Some(to)) if from.path != to.path)
    }

    /// Splits a change of the kind of an entry into a removal and an addition.
    fn parts(self) -> Vec<Self> {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) if kind(&from.item) != kind(&to.item) => {
                let (from, to) = (self.from, self.to);
                let gone = Self { name: "removed", from, to: None };
                let come = Self { name: "added", from: None, to };
                vec![gone, come]
            }
            _ => vec![self],
        }
    }
}

/// Names of the changes of a path that one of the captures left out.
const LEFT_OUT: &str = "left_out";
const TAKEN_IN: &str = "taken_in";

pub fn run(engine: &Engine, args: &DiffArgs, out: &mut Out) -> Result<()> {
    let paths = args.paths.iter().map(|path| captured_files::tree_path(path));
    let paths = paths.collect::<Result<Vec<_>>>()?;
    let before = captures::snapshot(engine, &args.before)?;
    let after = captures::snapshot(engine, &args.after)?;
    for path in &paths {
        if before.entry(path)?.is_none() && after.entry(path)?.is_none() {
            return Err(captured_files::in_neither(path, &args.before, &args.after));
        }
    }
    let mut changes = list(before.diff(&after)?);
    changes.retain(|change| change.is_within(&paths));
    if out.json {
        let forms = changes.iter().map(Change::form).collect();
        return Ok(out.json(&Value::Array(forms))?);
    }
    if changes.is_empty() {
        return Ok(out.line("the files are the same")?);
    }
    let changes = changes.into_iter().flat_map(Change::parts);
    let sides = [&before, &after];
    if args.stat {
        return stat(sides, changes, out);
    }
    for change in changes {
        print(sides, &change, out)?;
    }
    Ok(())
}

/// Returns all changes in order of paths.
fn list(changes: FileChanges) -> Vec<Change> {
    let mut list = Vec::new();
    let mut put = |name, from: Option<(TreePath, Item)>, to: Option<(TreePath, Item)>| {
        let side = |(path, item)| Side { path, item };
        let (from, to) = (from.map(side), to.map(side));
        list.push(Change { name, from, to });
    };
    for entry in changes.added {
        put("added", None, Some((entry.path, entry.item)));
    }
    for entry in changes.removed {
        put("removed", Some((entry.path, entry.item)), None);
    }
    for entry in changes.left_out {
        put(LEFT_OUT, Some((entry.path, entry.item)), None);
    }
    for entry in changes.taken_in {
        put(TAKEN_IN, None, Some((entry.path, entry.item)));
    }
    let both = |change: FileChange| {
        let before = Some((change.path.clone(), change.before));
        (before, Some((change.path, change.after)))
    };
    for change in changes.changed {
        let (before, after) = both(change);
        put("changed", before, after);
    }
    for change in changes.modes {
        let (before, after) = both(change);
        put("mode", before, after);
    }
    for renamed in changes.renamed {
        let (from, to) = (renamed.from, renamed.to);
        put("renamed", Some((from.path, from.item)), Some((to.path, to.item)));
    }
    list.sort_by(|a, b| a.path().cmp(&b.path()));
    list
}

fn print(sides: [&Snapshot; 2], change: &Change, out: &mut Out) -> Result<()> {
    let (from, to) = (change.from.as_ref(), change.to.as_ref());
    let Some((old, new)) = from.or(to).zip(to.or(from)) else {
        return Ok(());
    };
    if old.item.kind.is_directory() {
        let (mode, path) = (captured_files::mode(&new.item), &new.path);
        return Ok(out.line(match (from, to) {
            (None, _) => format!("new folder {path} mode {mode}"),
            (_, None) => format!("deleted folder {path} mode {mode}"),
            _ => format!(
                "folder {path} old mode {} new mode {mode}",
                captured_files::mode(&old.item)
            ),
        })?);
    }
    if change.name == LEFT_OUT || change.name == TAKEN_IN {
        let which = if change.name == LEFT_OUT { "later" } else { "earlier" };
        let line = format!("{}: the {which} capture left it out", new.path);
        return Ok(out.line(out.style(Style::Bold, &line))?);
    }
    let mut head = vec![format!("diff --git a/{} b/{}", old.path, new.path)];
    match (from, to) {
        (None, _) => head.push(format!("new file mode {}", git_mode(&new.item))),
        (_, None) => head.push(format!("deleted file mode {}", git_mode(&old.item))),
        _ if old.item.mode != new.item.mode => {
            head.push(format!("old mode {}", git_mode(&old.item)));
            head.push(format!("new mode {}", git_mode(&new.item)));
        }
        _ => {}
    }
    if change.renamed() {
        head.push(format!("rename from {}", old.path));
        head.push(format!("rename to {}", new.path));
    }
    for line in head {
        let line = out.style(Style::Bold, &line);
        out.line(line)?;
    }
    let name = |side: Option<&Side>, front| match side {
        Some(side) => format!("{front}/{}", side.path),
        None => "/dev/null".to_owned(),
    };
    let (a, b) = (name(from, "a"), name(to, "b"));
    match compare(sides, change)? {
        Compared::Same => {}
        Compared::Binary => out.line(format!("Binary files {a} and {b} differ"))?,
        Compared::Large => out.line(format!(
            "Files {a} and {b} differ, and are too large to be compared line by line"
        ))?,
        Compared::Lines(texts) => {
            if !texts.are_empty() {
                for line in [format!("--- {a}"), format!("+++ {b}")] {
                    let line = out.style(Style::Bold, &line);
                    out.line(line)?;
                }
            }
            texts.print(out)?;
        }
    }
    Ok(())
}

fn stat(sides: [&Snapshot; 2], changes: impl Iterator<Item = Change>, out: &mut Out) -> Result<()> {
    let (mut files, mut added, mut removed) = (0, 0, 0);
    for change in changes {
        let (from, to) = (change.from.as_ref(), change.to.as_ref());
        let Some((old, new)) = from.or(to).zip(to.or(from)) else {
            continue;
        };
        if old.item.kind.is_directory() {
            continue;
        }
        files += 1;
        let path = match change.renamed() {
            true => format!("{} => {}", old.path, new.path),
            false => new.path.to_string(),
        };
        let len =
            |side: Option<&Side>| size(side.and_then(|s| s.item.kind.file_len()).unwrap_or(0));
        let lens = || format!("{} -> {}", len(from), len(to));
        let what = match compare(sides, &change)? {
            Compared::Same if old.item.mode != new.item.mode => {
                format!(
                    "mode {} -> {}",
                    captured_files::mode(&old.item),
                    captured_files::mode(&new.item)
                )
            }
            Compared::Same => "+0 -0".to_owned(),
            Compared::Binary => format!("binary, {}", lens()),
            Compared::Large => format!("large, {}", lens()),
            Compared::Lines(texts) => {
                let (come, gone) = texts.counts();
                (added, removed) = (added + come, removed + gone);
                format!("+{come} -{gone}")
            }
        };
        out.line(format!("{path} | {what}"))?;
    }
    let (files, added) = (count(files, "file"), count(added, "line"));
    let removed = count(removed, "line");
    Ok(out.line(format!("{files} changed, {added} added, {removed} removed"))?)
}

fn compare(sides: [&Snapshot; 2], change: &Change) -> Result<Compared> {
    let [before, after] = sides;
    let side =
        |side: &Option<Side>| side.as_ref().map(|side| (side.path.clone(), side.item.clone()));
    text_diff::compare((before, side(&change.from)), (after, side(&change.to)))
}

fn kind(item: &Item) -> u8 {
    match &item.kind {
        EntryKind::Directory { .. } => 0,
        EntryKind::Link { .. } => 1,
        _ => 2,
    }
}

/// Formats a mode as git does, with the permission bits.
fn git_mode(item: &Item) -> String {
    match &item.kind {
        EntryKind::Link { .. } => "120000".to_owned(),
        _ => format!("100{:03o}", item.mode & 0o777),
    }
}
