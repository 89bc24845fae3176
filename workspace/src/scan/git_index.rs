//! Paths that git tracks, from the index of a repository: versions 2 to 4, with SHA-1 or SHA-256,
//! whole or split. Other extensions are passed over.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::fs::{Dir, Kind, at_root, look_at};

/// Most bytes of an index that are read.
const LEN_MAX: u64 = 256 << 20;

/// Most bytes of a `.git` that is a file.
const POINTER_MAX: u64 = 8 << 10;

/// Lengths of hashes.
const HASHES: [usize; 2] = [20, 32];

/// Bytes of an entry before its hash, and the place of its mode in them.
const STAT: usize = 40;
const MODE: usize = 24;

/// Kind bits of a mode: a file or a link, which have content.
const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// Tracked paths of a repository, in order of their bytes.
#[derive(Debug, Default)]
pub(super) struct Tracked(Vec<Box<[u8]>>);

/// Repositories of a walk, the innermost last: it decides.
#[derive(Default)]
pub(super) struct Repositories(Vec<Repository>);

struct Repository {
    tracked: Tracked,
    /// The workspace's path in the repository, with a trailing `/` unless it is empty.
    prefix: Vec<u8>,
    /// Length of the path of a walk up to the workspace, or to a repository in it.
    at: usize,
}

impl Repositories {
    /// Enters a repository. Returns `false` if its index cannot be read: then nothing is tracked.
    pub(super) fn enter(&mut self, index: Index, prefix: Vec<u8>, at: usize) -> bool {
        let is_readable = !matches!(index, Index::Unreadable);
        let tracked = match index {
            Index::Read(tracked) => tracked,
            Index::Absent | Index::Unreadable => Tracked::default(),
        };
        self.0.push(Repository { tracked, prefix, at });
        is_readable
    }

    /// Leaves the repository that was entered last.
    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// Returns `true` for the path of a walk that is tracked, or a folder with one.
    pub(super) fn have(&self, path: &[u8], is_directory: bool) -> bool {
        self.0.last().is_some_and(|repository| {
            let below = path.get(repository.at..).unwrap_or_default();
            let path = [repository.prefix.as_slice(), below].concat();
            repository.tracked.has(&path, is_directory)
        })
    }
}

/// The index of a repository.
#[derive(Debug)]
pub(super) enum Index {
    Read(Tracked),
    /// The index is missing: nothing is tracked.
    Absent,
    /// The index exists, and cannot be read.
    Unreadable,
}

impl Tracked {
    /// Returns `true` for a tracked path, or a folder with one.
    pub(super) fn has(&self, path: &[u8], is_directory: bool) -> bool {
        if !is_directory {
            return self.0.binary_search_by(|tracked| (**tracked).cmp(path)).is_ok();
        }
        let below = [path, b"/"].concat();
        let first = self.0.partition_point(|tracked| **tracked < *below);
        self.0.get(first).is_some_and(|tracked| tracked.starts_with(&below))
    }

    /// Adds the paths to a digest.
    pub(super) fn digest(&self, hasher: &mut blake3::Hasher) {
        for path in &self.0 {
            hasher.update(path).update(b"\0");
        }
    }
}

impl Index {
    /// Reads the index of the repository of a folder that has a `.git`.
    pub(super) fn of(folder: &Path) -> Self {
        match at_root(folder) {
            Ok(dir) => Self::in_dir(&dir, folder),
            Err(_) => Self::Absent,
        }
    }

    /// Reads the index of the repository of an open folder. `folder` is its path, which a `.git`
    /// that is a file may be relative to.
    pub(super) fn in_dir(dir: &Dir, folder: &Path) -> Self {
        let Ok(found) = dir.look(b".git") else { return Self::Absent };
        let git = match found.kind {
            Kind::Directory => dir.directory(b".git").ok(),
            Kind::File => pointed_at(dir, folder).and_then(|at| at_root(&at).ok()),
            Kind::Link | Kind::Special => at_root(&folder.join(".git/.")).ok(),
        };
        let Some(git) = git else { return Self::Absent };
        if git.look(b"index").is_err() {
            return Self::Absent;
        }
        match tracked(&git) {
            Some(tracked) => Self::Read(tracked),
            None => Self::Unreadable,
        }
    }
}

/// Returns the folder that a `.git` names which is a file.
fn pointed_at(dir: &Dir, folder: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut text = Vec::new();
    dir.file(b".git").ok()?.take(POINTER_MAX).read_to_end(&mut text).ok()?;
    let path = text.strip_prefix(b"gitdir:")?.trim_ascii();
    Some(folder.join(std::ffi::OsStr::from_bytes(path)))
}

fn tracked(git: &Dir) -> Option<Tracked> {
    let bytes = content(git, b"index")?;
    let (index, hash) = HASHES.iter().find_map(|hash| Some((parse(&bytes, *hash)?, *hash)))?;
    let mut paths = index.paths;
    if let Some(base) = index.base {
        let name = format!("sharedindex.{}", hex(&base));
        paths.extend(parse(&content(git, name.as_bytes())?, hash)?.paths);
    }
    // A replaced entry of a split index has no name of its own.
    paths.retain(|path| !path.is_empty());
    paths.sort_unstable();
    paths.dedup();
    Some(Tracked(paths))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn content(git: &Dir, name: &[u8]) -> Option<Vec<u8>> {
    let file = git.file(name).ok()?;
    look_at(&file).ok().filter(|found| found.kind == Kind::File)?;
    let mut bytes = Vec::new();
    file.take(LEN_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LEN_MAX).then_some(bytes)
}

/// A parsed index.
struct Parsed {
    paths: Vec<Box<[u8]>>,
    /// Hash in the name of the index that this one adds to.
    base: Option<Vec<u8>>,
}

/// Parses an index. Returns `None` if it is damaged or of another form.
fn parse(bytes: &[u8], hash: usize) -> Option<Parsed> {
    let body = bytes.get(..bytes.len().checked_sub(hash)?)?;
    let version = number(body, 4)?;
    if body.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut path, mut paths) = (12_usize, Vec::new(), Vec::new());
    for _ in 0..number(body, 8)? {
        let kind = number(body, at.checked_add(MODE)?)? & KIND;
        let flags = at.checked_add(STAT + hash)?;
        let is_extended = version >= 3 && body.get(flags)? & 0x40 != 0;
        let mut name = flags.checked_add(if is_extended { 4 } else { 2 })?;
        let before = path.clone();
        match version {
            4 => path.truncate(path.len().checked_sub(varint(body, &mut name)?)?),
            _ => path.clear(),
        }
        let rest = body.get(name..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(rest.get(..end)?);
        let end = name.checked_add(end)?;
        at = match version {
            4 => end.checked_add(1)?,
            _ => at.checked_add((end.checked_sub(at)?.checked_add(8)?) & !7)?,
        };
        // The names ascend, apart from those without a name at the beginning of a split index.
        if !path.is_empty() && path < before {
            return None;
        }
        if matches!(kind, FILE | LINK) {
            paths.push(path.clone().into_boxed_slice());
        }
    }
    let mut base = None;
    while at < body.len() {
        let len = usize::try_from(number(body, at.checked_add(4)?)?).ok()?;
        let content = at.checked_add(8)?;
        let next = content.checked_add(len)?;
        let extension = body.get(content..next)?;
        if body.get(at..at.checked_add(4)?)? == b"link" {
            base = extension.get(..hash).map(<[u8]>::to_vec);
        }
        at = next;
    }
    Some(Parsed { paths, base: base.filter(|base| base.iter().any(|byte| *byte != 0)) })
}

/// Returns the number in 4 bytes.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let number = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(number.try_into().ok()?))
}

/// Reads a number of variable length, in git's encoding of offsets.
fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns an index of version 2 with these paths.
    fn index(paths: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend(u32::try_from(paths.len()).unwrap().to_be_bytes());
        for path in paths {
            let begin = bytes.len();
            bytes.extend([0; MODE]);
            bytes.extend((FILE | 0o644).to_be_bytes());
            bytes.extend([0; STAT - MODE - 4 + 20]);
            bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
            bytes.extend(path.as_bytes());
            let len = (bytes.len() - begin + 8) & !7;
            bytes.resize(begin + len, 0);
        }
        bytes.extend([0; 20]);
        bytes
    }

    #[test]
    fn a_damaged_index_is_unreadable_and_never_more() {
        let good = index(&["a", "b/c", "b/d"]);
        let paths = |bytes: &[u8]| parse(bytes, 20).map(|index| index.paths.len());
        assert_eq!(paths(&good), Some(3));
        for end in 0..good.len() {
            let _ = parse(&good[..end], 20);
            let _ = parse(&good[..end], 32);
        }
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                let _ = parse(&bad, 20);
            }
        }
        assert_eq!(paths(&index(&["b", "a"])), None, "names that do not ascend");
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        assert!(matches!(Index::of(dir.path()), Index::Absent));
        std::fs::write(dir.path().join(".git/index"), &good[..40]).unwrap();
        assert!(matches!(Index::of(dir.path()), Index::Unreadable));
        std::fs::write(dir.path().join(".git/index"), &good).unwrap();
        let Index::Read(tracked) = Index::of(dir.path()) else { panic!() };
        let has = |path: &str, is_directory| tracked.has(path.as_bytes(), is_directory);
        assert!(has("a", false) && has("b", true) && has("b/d", false));
        assert!(!has("a", true) && !has("b", false) && !has("b/", true) && !has("bb", true));
    }

    /// Every form of an index that the git of this machine writes.
    #[test]
    fn what_git_writes_is_read_in_each_of_its_forms() {
        let forms: [(&[&str], &[&str]); 6] = [
            (&[], &["--index-version", "2"]),
            (&[], &["--index-version", "3"]),
            (&[], &["--index-version", "4"]),
            (&["--object-format=sha256"], &["--index-version", "4"]),
            (&[], &["--split-index"]),
            (&[], &["--untracked-cache"]),
        ];
        for (init, update) in forms {
            let dir = tempfile::tempdir().unwrap();
            let git = |args: &[&str]| {
                let mut git = Command::new("git");
                git.current_dir(dir.path()).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null");
                git.output().map(|done| done.status.success())
            };
            if git(&["--version"]).is_err() {
                eprintln!("not run: git is not installed");
                return;
            }
            if !git(&[&["init", "-q", "."], init].concat()).unwrap() {
                eprintln!("not run: this git has no {init:?}");
                continue;
            }
            std::fs::create_dir_all(dir.path().join("dist/deep")).unwrap();
            let names = ["a", "dist/deep/x.js", "dist/deep/y.js", "dist/z", "with space"];
            for name in names {
                std::fs::write(dir.path().join(name), name).unwrap();
            }
            assert!(git(&["add", "-A", "-f"]).unwrap());
            assert!(git(&[&["update-index"], update].concat()).unwrap());
            std::fs::write(dir.path().join("later"), "l").unwrap();
            assert!(git(&["add", "later"]).unwrap());
            assert!(git(&["add", "-N", "later"]).unwrap());
            let Index::Read(tracked) = Index::of(dir.path()) else { panic!("{update:?}") };
            for name in names.iter().chain(&["later"]) {
                assert!(tracked.has(name.as_bytes(), false), "{name} {update:?}");
            }
            assert!(tracked.has(b"dist/deep", true) && !tracked.has(b"dist/deep/w", false));
        }
    }
}
