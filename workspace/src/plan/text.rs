//! Sentences about a plan, and about a restore that was done. Each is computed from the value:
//! command, JSON, terminal view and page show these.

use std::collections::BTreeMap;
use std::fmt;

use milepost_codec::{SkipReason, TreePath};
use milepost_reading::shell;
use milepost_reading::units::size;

use super::report::{ConflictWhy, LeftOut, LeftOutChange, LeftPath, LeftWhy, NotCovered};
use super::report::{NoteWhat, PathConflict, Plan, PlannedPath, Way};

/// Number of paths of a list that are printed one by one.
const LINES: usize = 40;

/// Number of paths in one folder above which they are one line of a longer list.
const IN_FOLDER: usize = 4;

impl ConflictWhy {
    /// Returns the text for people.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Changed => "it was changed since it was last captured",
            Self::Unrecorded => "what is there was never captured",
            Self::NotByARun => "it was made or changed outside of any run",
            Self::Outside => "others changed it too",
            Self::AuthorUnknown => "it is not known whether the run or others changed it",
            Self::InTheWay => "the folder has something in it that would be lost",
            Self::Unstable => "the snapshot's was written to while it was captured",
            Self::Locked => "another process holds the folder",
            Self::Space => "the disk has not enough room",
            Self::Denied => "the folder cannot be written to",
            Self::Case => "the file system takes two names for one",
            Self::Missing => "stored contents of it are damaged or gone",
            Self::OtherFolder => "the snapshot is of another folder",
        }
    }
}

impl LeftWhy {
    /// Returns the text for people.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Made => "it stays: others made it",
            Self::Changed => "it stays: others changed it",
            Self::Removed => "it stays removed: others removed it",
            Self::Unrecorded => "it stays: it was never captured",
            Self::Outside => "it stays: the run and others changed it",
            Self::AuthorUnknown => "it stays: it is not known whether the run or others changed it",
            Self::Chosen => "it stays: you keep it",
        }
    }

    /// Returns the words of the summary about some paths.
    fn counted(self, number: u64) -> String {
        let (paths, stay) = (counted(number, "path"), if number == 1 { "stays" } else { "stay" });
        match self {
            Self::Made | Self::Changed | Self::Removed => {
                format!("{paths} {stay} as others left {}", them(number))
            }
            Self::Unrecorded => format!("{paths} {stay} that no capture has"),
            Self::Outside => format!("{paths} {stay} that others changed too"),
            Self::AuthorUnknown => {
                format!("{paths} {stay}: whose the changes are is not known")
            }
            Self::Chosen => format!("{paths} {stay} as you chose"),
        }
    }
}

impl Way {
    /// Returns the option of the command, with the path that it is for.
    pub fn option(self, path: Option<&TreePath>) -> String {
        let path =
            path.map(|path| format!(" {}", shell::word(path.as_bytes()))).unwrap_or_default();
        match self {
            Self::Theirs => format!("--theirs{path}"),
            Self::KeepMine => format!("--keep-mine{path}"),
            Self::Moved => "--moved".to_owned(),
        }
    }
}

impl LeftOut {
    pub(super) fn new(
        path: milepost_codec::PathBytes,
        reason: SkipReason,
        change: LeftOutChange,
        bytes: Option<u64>,
    ) -> Self {
        let since = match change {
            LeftOutChange::Gone => "it is gone since, and does not come back",
            LeftOutChange::Changed => "it changed since, and stays as it is",
            LeftOutChange::Touched => "it may have changed since, and stays as it is",
            LeftOutChange::New => "it is new since, and stays",
        };
        let text = format!("{}: {since}", left_out_by(reason));
        Self { path, reason, change, bytes, text }
    }
}

impl NotCovered {
    pub(crate) fn new(path: String) -> Self {
        let text = "not covered: a call ran there, outside of what captures of this folder have; \
                    its files stay";
        Self { path, text: text.to_owned() }
    }
}

/// Returns the words for the reason why captures leave a path out.
fn left_out_by(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Ignored => "left out by a rule",
        SkipReason::Default => "left out by the default list",
        SkipReason::Large => "left out by its size",
        SkipReason::Limit => "left out, since the capture was full",
        SkipReason::Git => "left out as data of a repository",
        SkipReason::Special => "left out as a pipe, socket or device",
        SkipReason::Mount => "left out as another file system",
        SkipReason::Denied => "left out, since it cannot be read",
        _ => "left out",
    }
}

impl Plan {
    /// Returns one sentence about the plan, or about the finished restore. It states that the files
    /// are as they were only if nothing differs.
    pub fn summary(&self) -> String {
        if !self.conflicts.is_empty() {
            let (number, verb) = number_and_verb(self.conflicts.len());
            return format!("{number} {verb} in the way: nothing was done");
        }
        let number = self.number();
        let (go, are) = match (self.done, number) {
            (_, 0) => (String::new(), String::new()),
            (true, number) => (format!("{} went back", counted(number, "path")), ": ".to_owned()),
            (false, 1) => ("1 path goes back".to_owned(), ": then ".to_owned()),
            (false, number) => {
                (format!("{} go back", counted(number, "path")), ": then ".to_owned())
            }
        };
        if self.is_whole() {
            let whole = match self.uncompared {
                0 => "the files are as they were then".to_owned(),
                number => format!(
                    "the captured files are as they were then; {} that captures leave out {} not \
                     compared",
                    counted(number, "path"),
                    if number == 1 { "was" } else { "were" }
                ),
            };
            return format!("{go}{are}{whole}");
        }
        let mut parts: Vec<String> = Some(go).filter(|go| !go.is_empty()).into_iter().collect();
        if number == 0 {
            parts.push(match self.done {
                true => "nothing went back".to_owned(),
                false => "nothing goes back".to_owned(),
            });
        }
        parts.extend(self.remains());
        parts.join("; ")
    }

    /// Returns the parts of the summary about all that differs from the snapshot.
    fn remains(&self) -> Vec<String> {
        let mut by_why: BTreeMap<LeftWhy, u64> = BTreeMap::new();
        for left in &self.left {
            let why = match left.why {
                LeftWhy::Made | LeftWhy::Removed => LeftWhy::Changed,
                why => why,
            };
            *by_why.entry(why).or_default() += 1;
        }
        let mut parts: Vec<String> = by_why.iter().map(|(why, n)| why.counted(*n)).collect();
        let ignored = self.notes.iter().filter(|note| note.what == NoteWhat::Ignored).count();
        if ignored > 0 {
            let stay = if ignored == 1 { "stays" } else { "stay" };
            parts.push(format!("{} {stay} by a rule", counted(ignored as u64, "path")));
        }
        let folders = self.notes.iter().filter(|note| note.what == NoteWhat::FolderStays).count();
        if folders > 0 {
            let stay = if folders == 1 { "stays" } else { "stay" };
            parts.push(format!("{} {stay}, not empty", counted(folders as u64, "folder")));
        }
        let of = |changes: &[LeftOutChange]| {
            self.left_out.iter().filter(|one| changes.contains(&one.change)).count() as u64
        };
        let out = "that captures leave out";
        match of(&[LeftOutChange::Gone]) {
            0 => {}
            1 => parts.push(format!("1 path {out} is gone and does not come back")),
            n => parts.push(format!("{} {out} are gone and do not come back", counted(n, "path"))),
        }
        match of(&[LeftOutChange::Changed, LeftOutChange::Touched, LeftOutChange::New]) {
            0 => {}
            1 => parts.push(format!("1 path {out} is not as it was, or may not be")),
            n => parts.push(format!(
                "{} {out} are not as they had been, or may not be",
                counted(n, "path")
            )),
        }
        if !self.kept.is_empty() {
            let number = self.kept.len() as u64;
            let were = if number == 1 { "was" } else { "were" };
            parts.push(format!(
                "{} changed while this ran and {were} kept",
                counted(number, "file")
            ));
        }
        match self.not_covered.len() as u64 {
            0 => {}
            1 => parts.push("1 folder that calls ran in is not covered".to_owned()),
            n => parts.push(format!("{} that calls ran in are not covered", counted(n, "folder"))),
        }
        if self.late > 0 {
            let captures = counted(self.late, "capture");
            parts.push(format!("{captures} came late: files may have changed before"));
        }
        if self.uncompared > 0 {
            let were = if self.uncompared == 1 { "was" } else { "were" };
            parts.push(format!("{} {out} {were} not compared", counted(self.uncompared, "path")));
        }
        parts
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signs =
            [("+", &self.creates), ("~", &self.changes), ("~", &self.modes), ("-", &self.deletes)];
        for (sign, list) in signs {
            changes(sign, list, f)?;
        }
        for conflict in &self.conflicts {
            writeln!(f, "! {conflict}")?;
        }
        let left = self.left.iter().map(|one| (one.path.as_bytes(), one.why, one));
        stays(left.collect(), f, |one, f| writeln!(f, "= {one}"), |why| why.text().to_owned())?;
        let out = self.left_out.iter();
        let out = out.map(|one| (one.path.as_bytes(), (one.reason.name(), one.change), one));
        let text = |key: &(&str, LeftOutChange)| {
            let same = |one: &&LeftOut| (one.reason.name(), one.change) == *key;
            self.left_out.iter().find(same).map(|one| one.text.clone()).unwrap_or_default()
        };
        stays(out.collect(), f, |one, f| writeln!(f, "= {one}"), text)?;
        for folder in &self.not_covered {
            writeln!(f, "= {}  {}", folder.path, folder.text)?;
        }
        for path in &self.kept {
            writeln!(f, "= {path}  it was changed while this ran, and kept here")?;
        }
        for note in &self.notes {
            writeln!(f, "  {}  {}", note.path, note.text)?;
        }
        Ok(())
    }
}

/// Writes planned paths. In a long list, the paths in one folder are one line.
fn changes(sign: &str, list: &[PlannedPath], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let line = |planned: &PlannedPath, f: &mut fmt::Formatter<'_>| {
        let slash = if planned.kind == "folder" { "/" } else { "" };
        writeln!(f, "{sign} {}{slash}", planned.path)
    };
    let mut rest = list;
    while let Some((first, after)) = rest.split_first() {
        let folder = if list.len() > LINES { folder_of(first) } else { None };
        let Some(folder) = folder else {
            line(first, f)?;
            rest = after;
            continue;
        };
        let inside = |planned: &&PlannedPath| planned.path.is_in(&folder);
        let number = rest.iter().take_while(inside).count();
        if number <= IN_FOLDER {
            rest.iter().take(number).try_for_each(|planned| line(planned, f))?;
        } else {
            writeln!(f, "{sign} {folder}/  {} in it", counted(number as u64, "path"))?;
        }
        rest = rest.get(number..).unwrap_or_default();
    }
    Ok(())
}

/// Returns the top folder of a planned path.
fn folder_of(planned: &PlannedPath) -> Option<TreePath> {
    let bytes = planned.path.as_bytes();
    match bytes.iter().position(|byte| *byte == b'/') {
        Some(end) => TreePath::new(bytes.get(..end)?).ok(),
        None if planned.kind == "folder" => Some(planned.path.clone()),
        None => None,
    }
}

/// Writes paths that stay. Of a long list, the paths in one folder with one reason are one line.
fn stays<K: Copy + Ord, T>(
    mut list: Vec<(&[u8], K, &T)>,
    f: &mut fmt::Formatter<'_>,
    line: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
    text: impl Fn(&K) -> String,
) -> fmt::Result {
    if list.len() <= LINES {
        return list.iter().try_for_each(|(_, _, one)| line(one, f));
    }
    let top = |path: &[u8]| path.iter().position(|byte| *byte == b'/');
    list.sort_by(|a, b| (a.1, a.0).cmp(&(b.1, b.0)));
    let folder =
        |path: &[u8]| top(path).and_then(|end| path.get(..=end)).unwrap_or_default().to_vec();
    for group in list.chunk_by(|a, b| a.1 == b.1 && folder(a.0) == folder(b.0)) {
        let Some((path, key, _)) = group.first().filter(|_| group.len() > IN_FOLDER) else {
            group.iter().try_for_each(|(_, _, one)| line(one, f))?;
            continue;
        };
        let place = match folder(path) {
            at if at.is_empty() => ".".to_owned(),
            at => milepost_codec::printable(&at),
        };
        let paths = counted(group.len() as u64, "path");
        writeln!(f, "= {place}  {paths} in it; each: {}", text(key))?;
    }
    Ok(())
}

impl fmt::Display for LeftPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.path, self.text)?;
        match self.ways.as_slice() {
            [] => Ok(()),
            ways => write!(f, " ({} takes it)", options(ways, Some(&self.path))),
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes.map(|bytes| format!(" ({})", size(bytes))).unwrap_or_default();
        write!(f, "{}{bytes}  {}", self.path, self.text)
    }
}

impl fmt::Display for PathConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{path}  {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Returns options of the command.
fn options(ways: &[Way], path: Option<&TreePath>) -> String {
    let options: Vec<String> = ways.iter().map(|way| format!("`{}`", way.option(path))).collect();
    options.join(" or ")
}

fn number_and_verb(number: usize) -> (String, &'static str) {
    match number {
        1 => ("1 thing".to_owned(), "is"),
        _ => (format!("{number} things"), "are"),
    }
}

fn them(number: u64) -> &'static str {
    if number == 1 { "it" } else { "them" }
}

/// Returns a number of things.
fn counted(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
