//! The true history of each path: the author of each version, and the version before it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use milepost_tests::seed::Random;

pub type Content = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// The version of each path; a path that was never there has none.
pub type Known = BTreeMap<PathBuf, usize>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Run,
    Others,
}

/// A version of a path. Without content the path is not there.
#[derive(Debug)]
struct Version {
    content: Option<(u32, Vec<u8>)>,
    who: Who,
    over: Option<usize>,
    /// `true` if a restore kept the existing content: then the version has no author.
    is_kept: bool,
}

/// All versions, and the present one of each path.
#[derive(Debug, Default)]
pub struct Truth {
    versions: Vec<Version>,
    now: Known,
    /// Versions from this one on are in no capture: the next one by the same author replaces them.
    captured: usize,
}

/// Authors of the versions of a path since a point.
#[derive(Debug, Clone, Copy, Default)]
pub struct Authors {
    pub run: bool,
    pub others: bool,
    /// `true` if others wrote the current version.
    pub is_now_of_others: bool,
    /// `true` if the path does not come from the point.
    pub is_unknown: bool,
}

impl Truth {
    /// Returns the current versions, which a capture has.
    pub fn known(&mut self) -> Known {
        // A path that equals the capture before it did not change.
        for (path, at) in self.now.clone() {
            let mut base = Some(at);
            while let Some(version) = base.filter(|base| *base >= self.captured) {
                base = self.versions[version].over;
            }
            if self.content_of(Some(at)) == self.content_of(base) {
                match base {
                    Some(base) => self.now.insert(path, base),
                    None => self.now.remove(&path),
                };
            }
        }
        self.captured = self.versions.len();
        self.now.clone()
    }

    fn content_of(&self, version: Option<usize>) -> Option<&(u32, Vec<u8>)> {
        self.versions[version?].content.as_ref()
    }

    /// Returns the content of a path at a point.
    pub fn content(&self, known: &Known, path: &Path) -> Option<(u32, Vec<u8>)> {
        self.content_of(known.get(path).copied()).cloned()
    }

    /// Sees the folder after an edit.
    pub fn see(&mut self, content: &Content, who: Who) {
        let paths: Vec<_> = self.now.keys().chain(content.keys()).cloned().collect();
        for path in paths {
            let over = self.now.get(&path).copied();
            let now = content.get(&path);
            if now == self.content_of(over) {
                continue;
            }
            let last = over.filter(|at| *at >= self.captured && self.versions[*at].who == who);
            let Some(last) = last else {
                self.versions.push(Version { content: now.cloned(), who, over, is_kept: false });
                self.now.insert(path, self.versions.len() - 1);
                continue;
            };
            let over = self.versions[last].over;
            if now != self.content_of(over) {
                self.versions[last].content = now.cloned();
            } else if let Some(over) = over {
                self.now.insert(path, over);
            } else {
                self.now.remove(&path);
            }
        }
    }

    /// Observes the folder after a restore: a path that differs now is as at the target. A path
    /// that differs from the target was kept, and belongs to others from now on.
    pub fn restored(&mut self, content: &Content, target: &Known, what: &str) {
        let known = self.now.keys().chain(content.keys()).chain(target.keys());
        let paths: BTreeSet<_> = known.cloned().collect();
        for path in paths {
            let (now, there) = (content.get(&path), target.get(&path).copied());
            let wanted = self.content_of(there);
            if now == wanted {
                match there {
                    Some(version) => self.now.insert(path, version),
                    None => self.now.remove(&path),
                };
                continue;
            }
            let before = self.content_of(self.now.get(&path).copied());
            assert_eq!(now, before, "{what}: {path:?} is as at the target");
            let (content, who, over) = (now.cloned(), Who::Others, there);
            self.versions.push(Version { content, who, over, is_kept: true });
            self.now.insert(path, self.versions.len() - 1);
        }
    }

    /// Returns the authors of each path that is other than at a point.
    pub fn authors(&self, target: &Known) -> BTreeMap<PathBuf, Authors> {
        let mut all = BTreeMap::new();
        for path in self.now.keys().chain(target.keys()) {
            let there = target.get(path).copied();
            let wanted = self.content_of(there);
            let mut at = self.now.get(path).copied();
            let is_of_others = |version: &Version| version.who == Who::Others && !version.is_kept;
            let mut authors = Authors {
                is_now_of_others: at.is_some_and(|at| is_of_others(&self.versions[at])),
                ..Authors::default()
            };
            while self.content_of(at) != wanted {
                let Some(version) = at.map(|at| &self.versions[at]) else {
                    authors.is_unknown = true;
                    break;
                };
                match version.who {
                    Who::Run => authors.run = true,
                    Who::Others => authors.others = true,
                }
                at = version.over;
            }
            if self.content_of(self.now.get(path).copied()) != wanted {
                all.insert(path.clone(), authors);
            }
        }
        all
    }
}

const PATHS: [&str; 9] = ["a", "b", "c", "d", "d/x", "d/y", "d/e", "d/e/z", "d-"];

/// Makes a random change in a folder.
pub fn change(folder: &Path, random: &mut Random) {
    let path = folder.join(PATHS[random.below(PATHS.len() as u64) as usize]);
    let found = path.symlink_metadata().ok();
    match random.below(9) {
        0..=3 => {
            make_room(folder, &path);
            let text = format!("{}", random.below(100_000));
            std::fs::write(&path, text).unwrap();
        }
        4 => remove(&path),
        5 if !found.as_ref().is_some_and(|meta| meta.is_dir()) => {
            make_room(folder, &path);
            std::fs::create_dir(&path).unwrap();
        }
        6 if found.as_ref().is_some_and(|meta| !meta.is_symlink()) => {
            let bits = if random.below(2) == 0 { 0o755 } else { 0o700 };
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(bits)).unwrap();
        }
        7 if found.as_ref().is_some_and(|meta| !meta.is_dir()) => {
            let to = folder.join(PATHS[random.below(3) as usize]);
            if to != path {
                remove(&to);
                std::fs::rename(&path, to).unwrap();
            }
        }
        8 => {
            make_room(folder, &path);
            std::os::unix::fs::symlink("a", &path).unwrap();
        }
        _ => {}
    }
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Removes the entry at a path, and makes the folders above it.
fn make_room(folder: &Path, path: &Path) {
    let mut at = folder.to_owned();
    let below = path.strip_prefix(folder).unwrap();
    for name in below.parent().unwrap().iter() {
        at.push(name);
        if !at.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            remove(&at);
            std::fs::create_dir(&at).unwrap();
        }
    }
    remove(path);
}
