//! Kinds of files in a store's folder, and how withdrawn content leaves each of them.
//!
//! Erasing, trimming and deleting withdraw content from readers; a compaction removes it from the
//! disk. A new kind of file has to be added to [`KINDS`]: a compaction reports files of unknown
//! kinds.

use std::fs;
use std::path::{Path, PathBuf};

use milepost_codec::Result;

use crate::files;
use crate::local::layout::Layout;

/// The task content in files of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// None.
    Nothing,
    /// Content of the log: a compaction rewrites the files without withdrawn content.
    Log,
    /// A copy of content that the store does not need: a compaction removes the files if content
    /// was withdrawn.
    Copy,
    /// Content that was never in the log. It stays, and a compaction reports the files.
    Unlogged,
}

/// The files of a store, by their paths in its folder: `*` matches a part of one name, `**`
/// everything in a folder.
const KINDS: [(&str, Holds); 28] = [
    (".gitignore", Holds::Nothing),
    ("store", Holds::Nothing),
    ("store.copy", Holds::Nothing),
    ("acked", Holds::Nothing),
    ("lock", Holds::Nothing),
    ("journal/*.seg", Holds::Log),
    ("archive/*.mpa", Holds::Log),
    ("sled/**", Holds::Log),
    ("sled.next/**", Holds::Log),
    ("sled-now", Holds::Nothing),
    ("sled-closed", Holds::Nothing),
    ("sled-suspect", Holds::Nothing),
    // Places and numbers of damaged files.
    ("repairs", Holds::Nothing),
    ("packs/*.pack", Holds::Log),
    ("packs/*.copy", Holds::Log),
    ("damaged/**", Holds::Copy),
    // Left by a repair that was interrupted before it began to move files.
    ("archive.new/**", Holds::Copy),
    ("repairing", Holds::Nothing),
    // Names of captured files, and hashes of their contents.
    ("workspace/*.stat", Holds::Copy),
    // Probes the clock of the file system.
    ("workspace/moment", Holds::Nothing),
    ("server/**", Holds::Nothing),
    ("hooks.json", Holds::Nothing),
    // The time of the last verification.
    ("verified.json", Holds::Nothing),
    // Written by the command: the progress of a manual bisect.
    ("bisect.json", Holds::Copy),
    (".milepost-*.part", Holds::Copy),
    // Results of tools that could not be appended.
    ("unrecorded/*.jsonl", Holds::Unlogged),
    // Exports before cleanups.
    ("backups/*.jsonl", Holds::Unlogged),
    // Left by an export that was killed.
    ("backups/.milepost-*.part", Holds::Copy),
];

/// Files that a compaction does not rewrite.
#[derive(Debug, Default)]
pub(crate) struct ExtraFiles {
    /// Files and folders that may hold withdrawn content.
    pub(crate) copies: Vec<PathBuf>,
    /// Other files that may hold withdrawn content, and that a compaction does not remove.
    pub(crate) others: Vec<PathBuf>,
}

impl Layout {
    /// Finds files that may hold content and that no compaction rewrites.
    pub(crate) fn extra_files(&self) -> Result<ExtraFiles> {
        let mut found = ExtraFiles::default();
        self.look(&self.root, &mut found)?;
        Ok(found)
    }

    fn look(&self, dir: &Path, found: &mut ExtraFiles) -> Result<()> {
        let entries = match fs::read_dir(dir) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|e| files::io("list", dir, &e))?,
        };
        for entry in entries {
            let entry = entry.map_err(|e| files::io("list", dir, &e))?;
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match self.holds(&path) {
                Some(Holds::Nothing | Holds::Log) => {}
                Some(Holds::Copy) => found.copies.push(path),
                None if is_dir => self.look(&path, found)?,
                Some(Holds::Unlogged) | None => found.others.push(path),
            }
        }
        Ok(())
    }

    /// Returns the content of a file or of a whole folder, or `None` if its kind is unknown. A
    /// temporary file counts as the file that it is written for.
    fn holds(&self, path: &Path) -> Option<Holds> {
        let mut path = path.strip_prefix(&self.root).ok()?.to_owned();
        if let Some(of) = path.file_name().and_then(files::temp_target) {
            let of = str::from_utf8(of).ok()?.to_owned();
            path.set_file_name(of);
        }
        let path = path.to_str()?;
        let mut kinds = KINDS.iter();
        let kind = kinds.find(|(pattern, _)| fits(pattern, path))?;
        Some(kind.1)
    }
}

fn fits(pattern: &str, path: &str) -> bool {
    if let Some(dir) = pattern.strip_suffix("/**") {
        let below = path.strip_prefix(dir);
        return below.is_some_and(|below| below.is_empty() || below.starts_with('/'));
    }
    let Some((begin, end)) = pattern.split_once('*') else {
        return pattern == path;
    };
    let middle = path.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
    middle.is_some_and(|middle| !middle.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_the_kind_that_its_path_says() {
        let layout = Layout::new(Path::new("/s"));
        let holds = |path: &str| layout.holds(&Path::new("/s").join(path));
        assert_eq!(holds("store"), Some(Holds::Nothing));
        assert_eq!(holds("store.0123456789abcdef.tmp"), Some(Holds::Nothing));
        assert_eq!(holds("journal/spare-1.seg"), Some(Holds::Log));
        assert_eq!(holds("sled/blobs/1"), Some(Holds::Log));
        assert_eq!(holds("damaged"), Some(Holds::Copy));
        assert_eq!(holds("workspace/0a.stat"), Some(Holds::Copy));
        let temp_file = "workspace/0a.stat.0123456789abcdef.tmp";
        assert_eq!(holds(temp_file), Some(Holds::Copy));
        assert_eq!(holds("unrecorded/0a.jsonl"), Some(Holds::Unlogged));
        for unknown in ["sledge", "journal", "journal/a/1.seg", "workspace/x", "x"] {
            assert_eq!(holds(unknown), None, "{unknown}");
        }
    }
}
