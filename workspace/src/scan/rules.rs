//! Ignore rules: `.gitignore` and `.milepostignore` of each folder, and of the ancestors up to the
//! one with a `.git`.

// tidy: one set of rules

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use milepost_codec::{ChunkId, Entry, SkipReason, TreePath};

use super::git_index::{Index, Repositories};
use super::git_pattern::as_git_means;
use crate::chunks::Contents;
use crate::fs::{Dir, Kind, at_root, look_at};
use crate::tree::{entries, parts, tree_of};

/// Names of rule files. The later of two rules in a folder wins, so the second file has priority.
const FILES: [&[u8]; 2] = [b".gitignore", b".milepostignore"];

/// Patterns that captures leave out unless a rule of the folder decides: what tools make again from
/// other files. The syntax is that of `.gitignore`; a line `!dist/` in the folder's
/// `.milepostignore` includes one.
pub const DEFAULT_IGNORES: [&str; 24] = [
    "node_modules/",
    "bower_components/",
    "target/",
    "dist/",
    "__pycache__/",
    "*.pyc",
    ".venv/",
    "venv/",
    "*.egg-info/",
    ".tox/",
    ".nox/",
    ".eggs/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".ipynb_checkpoints/",
    ".gradle/",
    ".next/",
    ".nuxt/",
    ".turbo/",
    ".parcel-cache/",
    ".cache/",
    "*.log",
    ".DS_Store",
];

/// Compiled form of [`DEFAULT_IGNORES`].
static DEFAULTS: LazyLock<Gitignore> =
    LazyLock::new(|| built(&[Some(DEFAULT_IGNORES.join("\n"))]).unwrap_or_else(Gitignore::empty));

/// Maximum number of bytes read of a rule file.
const LEN_MAX: u64 = 1 << 20;

/// Rules of one folder.
struct Level {
    rules: Arc<Gitignore>,
    /// Length of the folder's part of a path.
    at: usize,
}

/// Rules that apply in the folder of a walk.
pub(crate) struct Rules {
    levels: Vec<Level>,
    /// Path from the topmost folder with rules to the workspace, with a trailing `/`; may be empty.
    base: Vec<u8>,
    /// `true` if the default list decides what no rule does.
    defaults: bool,
    /// Indexes of git, the innermost repository last.
    tracked: Repositories,
    /// `true` if the index of the repository around the workspace cannot be read.
    pub(crate) unread_index: bool,
}

impl Rules {
    /// Reads the rules above a workspace.
    pub(crate) fn above(folder: &Path, defaults: bool) -> Self {
        let (levels, base, tracked) = (Vec::new(), Vec::new(), Repositories::default());
        let mut rules = Self { levels, base, defaults, tracked, unread_index: false };
        rules.read_above(folder);
        if let Some(top) = repository_of(folder) {
            let way = folder.strip_prefix(top).unwrap_or(folder).as_os_str().as_bytes();
            let prefix = if way.is_empty() { Vec::new() } else { [way, b"/"].concat() };
            rules.unread_index = !rules.tracked.enter(Index::of(top), prefix, rules.base.len());
        }
        rules
    }

    fn read_above(&mut self, folder: &Path) {
        let rules = self;
        let (Some(top), above) = above(folder) else {
            return;
        };
        for above in above {
            let way = above.strip_prefix(top).unwrap_or(above).as_os_str();
            let at = way.len() + usize::from(!way.is_empty());
            if let Ok(dir) = at_root(above) {
                rules.enter(&dir, at);
            }
        }
        if !rules.levels.is_empty() {
            let way = folder.strip_prefix(top).unwrap_or(folder).as_os_str();
            rules.base = [way.as_bytes(), b"/"].concat();
        }
    }

    /// Enters a repository in the workspace, at the first `at` bytes of a path. Returns `false` if
    /// its index cannot be read.
    pub(crate) fn enter_repository(&mut self, dir: &Dir, folder: &Path, at: usize) -> bool {
        self.tracked.enter(Index::in_dir(dir, folder), Vec::new(), at)
    }

    /// Leaves the repository that was entered last.
    pub(crate) fn leave_repository(&mut self) {
        self.tracked.leave();
    }

    /// Returns `true` for a path that git tracks, or a folder with one, unless `.milepostignore`
    /// ignores it.
    pub(crate) fn is_tracked(&self, path: &[u8], is_directory: bool) -> bool {
        self.tracked.have(path, is_directory) && !self.is_ignored_by_own(path, is_directory)
    }

    /// Returns `true` if a `.milepostignore` decides that a path is ignored.
    fn is_ignored_by_own(&self, path: &[u8], is_directory: bool) -> bool {
        for level in self.levels.iter().rev() {
            let below = path.get(level.at..).unwrap_or_default();
            match level.rules.matched(OsStr::from_bytes(below), is_directory) {
                Match::None => {}
                Match::Ignore(glob) => return glob.from().is_some(),
                Match::Whitelist(_) => return false,
            }
        }
        false
    }

    /// Returns a digest of the rules above a workspace, and of the paths that git tracks.
    pub(crate) fn digest_above(folder: &Path) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        if let Some(Index::Read(tracked)) = repository_of(folder).map(Index::of) {
            tracked.digest(&mut hasher);
        }
        for above in above(folder).1 {
            hasher.update(above.as_os_str().as_bytes()).update(b"\0");
            for name in FILES {
                let text = at_root(above).ok().and_then(|dir| read(&dir, name));
                let text = text.unwrap_or_default();
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(text.as_bytes());
            }
        }
        *hasher.finalize().as_bytes()
    }

    /// Returns `true` if this is the name of a rule file.
    pub(crate) fn is_file(name: &[u8]) -> bool {
        FILES.contains(&name)
    }

    /// Returns the prefix of paths to check.
    pub(crate) fn base(&self) -> &[u8] {
        &self.base
    }

    /// Enters the folder at the first `at` bytes of a path. Returns `true` if it has rules.
    pub(crate) fn enter(&mut self, dir: &Dir, at: usize) -> bool {
        let texts = FILES.map(|name| read(dir, name));
        let Some(rules) = built(&texts) else {
            return false;
        };
        let rules = Arc::new(rules);
        self.levels.push(Level { rules, at });
        true
    }

    /// Leaves the folder with rules that was entered last.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Returns the reason if a path is ignored. The nearest folder decides, and the default list
    /// if no rule does.
    pub(crate) fn ignored(&self, path: &[u8], is_directory: bool) -> Option<SkipReason> {
        for level in self.levels.iter().rev() {
            let below = path.get(level.at..).unwrap_or_default();
            match level.rules.matched(OsStr::from_bytes(below), is_directory) {
                Match::None => {}
                Match::Ignore(_) => return Some(SkipReason::Ignored),
                Match::Whitelist(_) => return None,
            }
        }
        let by_default =
            self.defaults && DEFAULTS.matched(OsStr::from_bytes(path), is_directory).is_ignore();
        by_default.then_some(SkipReason::Default)
    }
}

/// Returns the part of a path that the rules of a folder leave out of captures: the path itself, or
/// a folder above it. `None` if none does. A missing path counts as a file.
pub fn left_out(folder: &Path, path: &TreePath) -> Option<TreePath> {
    let mut rules = Rules::above(folder, true);
    let mut full = rules.base().to_vec();
    let (base, mut dir) = (full.len(), at_root(folder).ok());
    let mut is_below = false;
    for name in path.names() {
        if let Some(dir) = &dir {
            rules.enter(dir, full.len());
        }
        full.extend_from_slice(name);
        dir = dir.and_then(|dir| dir.directory(name).ok());
        is_below |= rules.ignored(&full, dir.is_some()).is_some();
        if is_below && !rules.is_tracked(&full, dir.is_some()) {
            return TreePath::new(full.get(base..)?).ok();
        }
        full.push(b'/');
    }
    None
}

/// Builds the rules of a folder from the texts of its rule files. Returns `None` without rules.
fn built(texts: &[Option<String>]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    for (name, text) in FILES.iter().zip(texts) {
        let text = text.as_deref().unwrap_or_default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // Paths that the second file ignores are ignored although git tracks them.
        let from = (*name == FILES[1]).then(|| PathBuf::from(OsStr::from_bytes(name)));
        // The last line may have no end; git reads it as if it had one.
        let text = text.strip_suffix('\r').unwrap_or(text);
        for line in text.lines().filter_map(as_git_means) {
            // An invalid pattern ignores nothing, as in git.
            let _ = builder.add_line(from.clone(), &line);
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Rules in a stored tree. Unreadable ones ignore nothing, as in a scan. The default list does not
/// count: it only leaves paths out, and a restore removes only what was captured.
pub(crate) struct TreeRules<'a> {
    contents: &'a dyn Contents,
    tree: ChunkId,
    /// Rules and subfolders of each folder.
    known: HashMap<ChunkId, RulesCache>,
}

#[derive(Default)]
struct RulesCache {
    rules: Option<Arc<Gitignore>>,
    folders: HashMap<Box<[u8]>, ChunkId>,
}

impl<'a> TreeRules<'a> {
    pub(crate) fn of(contents: &'a dyn Contents, tree: ChunkId) -> Self {
        let known = HashMap::new();
        Self { contents, tree, known }
    }

    /// Returns `true` if the rules ignore a path, or a folder above it.
    pub(crate) fn ignore(&mut self, path: &TreePath, is_directory: bool) -> bool {
        let (levels, base, tracked) = (Vec::new(), Vec::new(), Repositories::default());
        let mut rules = Rules { levels, base, defaults: false, tracked, unread_index: false };
        let (full, mut folder, mut at) = (path.as_bytes(), Some(self.tree), 0);
        for name in path.names() {
            let known = folder.map(|id| self.known(id));
            if let Some(own) = known.and_then(|known| known.rules.as_ref()) {
                let rules_here = Arc::clone(own);
                rules.levels.push(Level { rules: rules_here, at });
            }
            let end = at + name.len();
            let is_last = end == full.len();
            let part = full.get(..end).unwrap_or_default();
            if rules.ignored(part, !is_last || is_directory).is_some() {
                return true;
            }
            folder = known.and_then(|known| known.folders.get(name)).copied();
            at = end + 1;
        }
        false
    }

    fn known(&mut self, id: ChunkId) -> &RulesCache {
        let contents = self.contents;
        self.known.entry(id).or_insert_with(|| {
            let here = entries(contents, &id).unwrap_or_default();
            let texts = FILES.map(|name| stored(contents, &here, name));
            let folders = here.into_iter().filter_map(|entry| {
                let tree = tree_of(Some(&entry.item))?;
                Some((Box::from(entry.name.as_bytes()), tree))
            });
            RulesCache { rules: built(&texts).map(Arc::new), folders: folders.collect() }
        })
    }
}

/// Returns the ancestors whose rules apply in a workspace, from the topmost down; the topmost is a
/// repository.
fn above(folder: &Path) -> (Option<&Path>, Vec<&Path>) {
    let top = repository_of(folder).filter(|top| *top != folder);
    let above = folder.ancestors().skip(1);
    let mut above: Vec<&Path> =
        above.take_while(|above| top.is_some_and(|top| above.starts_with(top))).collect();
    above.reverse();
    (top, above)
}

/// Returns the nearest folder with a `.git`, from this one up.
fn repository_of(folder: &Path) -> Option<&Path> {
    let has_git = |dir: &&Path| dir.join(".git").symlink_metadata().is_ok();
    folder.ancestors().find(has_git)
}

/// Returns the text of a stored rule file.
fn stored(contents: &dyn Contents, folder: &[Entry], name: &[u8]) -> Option<String> {
    let found = folder.iter().find(|entry| entry.name.as_bytes() == name)?;
    let mut bytes = Vec::new();
    for part in parts(contents, &found.item).ok()? {
        bytes.extend_from_slice(&contents.get(&part.id).ok()?);
        if bytes.len() as u64 >= LEN_MAX {
            break;
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the text of a rule file. Symlinks are not followed, as in git.
fn read(dir: &Dir, name: &[u8]) -> Option<String> {
    let file = dir.file(name).ok()?;
    look_at(&file).ok().filter(|found| found.kind == Kind::File)?;
    let mut bytes = Vec::new();
    file.take(LEN_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns the ignored ones of some paths in a workspace.
    fn ignored<'a>(top: &Path, workspace: &str, paths: &[&'a str]) -> Vec<&'a str> {
        let root = top.join(workspace);
        let mut ignored = Vec::new();
        for path in paths {
            let mut rules = Rules::above(&root, false);
            let mut full = rules.base().to_vec();
            rules.enter(&at_root(&root).unwrap(), full.len());
            let is_directory = path.ends_with('/');
            let path_only = path.trim_end_matches('/');
            let names: Vec<&str> = path_only.split('/').collect();
            let mut found = false;
            for (n, name) in names.iter().enumerate() {
                full.extend_from_slice(name.as_bytes());
                let last = n + 1 == names.len();
                found |= rules.ignored(&full, !last || is_directory).is_some();
                full.push(b'/');
                if let (false, Ok(dir)) = (last, at_root(&root.join(names[..=n].join("/")))) {
                    rules.enter(&dir, full.len());
                }
            }
            if found {
                ignored.push(*path);
            }
        }
        ignored
    }

    #[test]
    fn the_nearest_folder_and_then_the_later_rule_decide() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        fs::create_dir_all(top.join("sub")).unwrap();
        fs::write(top.join(".gitignore"), "*.log\n/out/\nsub/x\n# no\n!keep.log\n[\n").unwrap();
        fs::write(top.join(".milepostignore"), "!build.log\nsecret\n").unwrap();
        fs::write(top.join("sub/.gitignore"), "!a.log\nkeep.log\n").unwrap();
        let paths = [
            "a.log",
            "keep.log",
            "build.log",
            "secret",
            "out/",
            "out",
            "sub/out/",
            "sub/x",
            "x",
            "sub/a.log",
            "sub/b.log",
            "sub/keep.log",
            "sub/secret",
        ];
        let expected =
            ["a.log", "secret", "out/", "sub/x", "sub/b.log", "sub/keep.log", "sub/secret"];
        assert_eq!(ignored(top, "", &paths), expected);
    }

    #[test]
    fn rules_of_the_folders_above_hold_up_to_the_one_that_has_a_git() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        fs::create_dir_all(top.join("mono/part/job")).unwrap();
        fs::write(top.join(".gitignore"), "outside\n").unwrap();
        fs::write(top.join("mono/.gitignore"), "*.o\n/part/job/gen\n").unwrap();
        fs::write(top.join("mono/part/.gitignore"), "!special.o\njob/y\n").unwrap();
        let paths = ["outside", "a.o", "d/a.o", "special.o", "gen", "d/gen", "y", "d/y"];
        // Without a repository around the workspace, rules above do not apply.
        assert_eq!(ignored(top, "mono/part/job", &paths), [""; 0]);
        fs::create_dir(top.join("mono/.git")).unwrap();
        let expected = ["a.o", "d/a.o", "gen", "y"];
        assert_eq!(ignored(top, "mono/part/job", &paths), expected);
        // A folder with its own `.git` is the topmost.
        fs::create_dir(top.join("mono/part/job/.git")).unwrap();
        assert_eq!(ignored(top, "mono/part/job", &paths), [""; 0]);
    }

    #[test]
    fn rules_behind_a_link_and_paths_that_are_no_utf8() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("rules"), "*\n").unwrap();
        symlink("rules", dir.path().join(".gitignore")).unwrap();
        let mut rules = Rules::above(dir.path(), false);
        assert!(!rules.enter(&at_root(dir.path()).unwrap(), 0));
        fs::write(dir.path().join(".milepostignore"), "*.o\n").unwrap();
        assert!(rules.enter(&at_root(dir.path()).unwrap(), 0));
        assert_eq!(rules.ignored(b"\xff.o", false), Some(SkipReason::Ignored));
        assert_eq!(rules.ignored(b"\xff.c", false), None);
    }

    #[test]
    fn the_part_of_a_path_that_is_left_out_is_the_topmost_one() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("mono/job");
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir(dir.path().join("mono/.git")).unwrap();
        fs::write(dir.path().join("mono/.gitignore"), "/job/a/b/\n*.key\n").unwrap();
        fs::write(top.join("a/.gitignore"), "c\n").unwrap();
        fs::create_dir_all(top.join("dist")).unwrap();
        let out = |path: &str| left_out(&top, &TreePath::new(path.as_bytes()).unwrap());
        let out =
            |path: &str| out(path).map(|part| String::from_utf8_lossy(part.as_bytes()).into());
        let is = |part: &str| Some(part.to_owned());
        assert_eq!(
            (out("x.key"), out("a/b/file"), out("a/c")),
            (is("x.key"), is("a/b"), is("a/c"))
        );
        assert_eq!((out("a/file"), out("dist/x"), out("c")), (None, is("dist"), None));
    }

    #[test]
    fn the_default_list_decides_what_no_rule_does() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        fs::write(top.join(".gitignore"), "*.o\n!keep.log\n").unwrap();
        fs::write(top.join(".milepostignore"), "!dist/\n").unwrap();
        let mut rules = Rules::above(top, true);
        rules.enter(&at_root(top).unwrap(), 0);
        let folder = |path: &str| rules.ignored(path.as_bytes(), true);
        let file = |path: &str| rules.ignored(path.as_bytes(), false);
        for name in ["node_modules", "a/node_modules", "target", "x/__pycache__", ".venv"] {
            assert_eq!(folder(name), Some(SkipReason::Default), "{name}");
            assert_eq!(file(name), None, "{name}");
        }
        assert_eq!((folder("dist"), file("keep.log")), (None, None));
        assert_eq!(file("a/b.log"), Some(SkipReason::Default));
        assert_eq!(file("a/b.o"), Some(SkipReason::Ignored));
        assert_eq!(Rules::above(top, false).ignored(b"target", true), None);
        assert_eq!(DEFAULTS.num_ignores(), DEFAULT_IGNORES.len() as u64);
    }
}
