//! The walk: visits folders through their descriptors, names in order, and decides which entries to
//! capture. The cache provides known files; the workers read the others.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use milepost::Result;
use milepost_codec::{EntryKind, Item, Name, PathBytes, Skip, SkipReason, TreePath};

use super::assemble::Assembly;
use super::previous::Lasts;
use super::queue::Jobs;
use super::rules::Rules;
use super::workers::Ticket;
use super::{ScanInput, ScanResult, SharedDir, Storing};
use crate::cache::InFolder;
use crate::error;
use crate::fs::{Dir, Errno, Grain, Kind, Listed, Moment};

/// Maximum number of entries in a directory.
pub(super) const ENTRIES_MAX: usize = milepost_codec::Leaf::ENTRIES_MAX as usize;

/// Prefixes of folders that a restore creates in the root of a workspace.
const STAGING: [&[u8]; 2] = [b".milepost-restore-", b".milepost-kept-"];

/// Path of git's index in a repository.
const INDEX: &[u8] = b".git/index";

/// Maximum number of reads of a name that keeps changing.
const LOOKS: usize = 3;

/// A folder on the walk's stack. The stack is explicit, since folders may be deep.
pub(super) struct At<'a> {
    pub(super) dir: SharedDir,
    /// Number in the assembly.
    pub(super) number: u32,
    names: std::vec::IntoIter<Box<[u8]>>,
    /// Cached files of the folder.
    pub(super) known: InFolder<'a>,
    /// Length of the path with its trailing `/`.
    pub(super) len: usize,
    has_rules: bool,
    /// `true` for a repository in the workspace.
    has_repository: bool,
    /// The reason if the folder is ignored, so that only recorded entries are captured.
    pub(super) ignored: Option<SkipReason>,
    /// `true` if the last scan saw another folder, or none, here or above: its results below are
    /// not reused.
    pub(super) foreign: bool,
}

/// A folder to enter.
pub(super) struct Inside {
    pub(super) dir: SharedDir,
    pub(super) number: u32,
    pub(super) names: Vec<Box<[u8]>>,
    pub(super) ignored: Option<SkipReason>,
    pub(super) foreign: bool,
}

/// Result of reading a name.
pub(super) enum EntryOutcome {
    /// The entry was captured or left out.
    Done,
    /// The entry is a folder.
    Folder(Inside),
    /// The entry was replaced by one of another kind.
    Changed,
}

/// State of one scan.
pub(super) struct Walk<'a, 'scope, 'env> {
    pub(super) input: &'a ScanInput<'a>,
    pub(super) jobs: Jobs<'scope, 'env>,
    pub(super) assembly: Assembly<'a>,
    pub(super) grain: &'a Grain,
    pub(super) now: Moment,
    root: Listed,
    pub(super) rules: Rules,
    pub(super) last: Lasts,
    /// Folders of the walk, from the root down.
    stack: Vec<At<'a>>,
    /// The base of the rules, and the path of the walk's folder with a trailing `/`.
    pub(super) path: Vec<u8>,
    pub(super) base: usize,
    pub(super) skips: Vec<Skip>,
    /// Bytes captured so far, and whether the limit was reached.
    pub(super) total: u64,
    pub(super) full: bool,
    pub(super) read: u64,
    pub(super) stored: u64,
    pub(super) known: u64,
    /// `true` if the last scan turned out to be unreliable.
    pub(super) not_enough: bool,
    /// Files to read again, with the number of the attempt.
    pub(super) again: Vec<(Ticket, u8)>,
}

impl<'a, 'scope, 'env> Walk<'a, 'scope, 'env> {
    pub(super) fn new(
        input: &'a ScanInput<'a>,
        jobs: Jobs<'scope, 'env>,
        grain: &'a Grain,
        now: Moment,
        root: Listed,
    ) -> Self {
        let rules = Rules::above(input.folder, input.options.default_ignores);
        let path = rules.base().to_vec();
        Self {
            input,
            jobs,
            assembly: Assembly::new(Storing::new(input.chunks, input.check_stored)),
            grain,
            now,
            root,
            base: path.len(),
            path,
            rules,
            last: Lasts::new(input.recorded),
            stack: Vec::new(),
            skips: Vec::new(),
            total: 0,
            full: false,
            read: 0,
            stored: 0,
            known: 0,
            not_enough: false,
            again: Vec::new(),
        }
    }

    /// Scans the whole folder.
    pub(super) fn all(mut self) -> Result<Option<ScanResult>> {
        let root = self.input.root.reopen().map_err(|e| error::below("open", b"", e))?;
        self.watch(&root);
        let names = names_of(&root).map_err(|e| error::below("list", b"", e))?;
        let inside = Inside {
            number: self.assembly.begin(None, b"", &self.root),
            dir: SharedDir::new(root),
            names,
            ignored: None,
            foreign: false,
        };
        if self.rules.unread_index {
            self.skip_path(0, PathBytes::from(INDEX), SkipReason::Denied, 0);
        }
        self.enter(inside);
        while let Some(mut at) = self.stack.pop() {
            self.input.cancel.check()?;
            self.path.truncate(at.len);
            match at.names.next() {
                Some(name) => {
                    let inside = self.entry(&mut at, &name)?;
                    self.stack.push(at);
                    if let Some(inside) = inside {
                        self.last.enter(&name);
                        self.enter(inside);
                    }
                }
                None => {
                    if at.has_rules {
                        self.rules.leave();
                    }
                    if at.has_repository {
                        self.rules.leave_repository();
                    }
                    self.last.leave();
                    self.assembly.leave(at.number)?;
                }
            }
        }
        let mut done = Vec::new();
        self.jobs.flush(self.now, &mut done)?;
        self.place_all(done)?;
        self.finish_jobs()?;
        while !self.again.is_empty() {
            self.read_again(self.grain.ns())?;
        }
        self.assembly.flush()?;
        let Some(tree) = self.assembly.root.filter(|_| !self.not_enough) else {
            return Ok(None);
        };
        self.skips.sort_by(|a, b| a.path.cmp(&b.path));
        self.skips.dedup_by(|a, b| a.path == b.path);
        Ok(Some(ScanResult {
            tree,
            counts: self.assembly.counts,
            skips: self.skips,
            read: self.read,
            stored: self.stored + self.assembly.stored(),
            known: self.known,
            cache: self.assembly.cache,
            whole: self.input.since.is_none(),
            folders: self.assembly.seen,
        }))
    }

    /// Waits for the results of all jobs.
    pub(super) fn finish_jobs(&mut self) -> Result<()> {
        while let Some(done) = self.jobs.next()? {
            self.input.cancel.check()?;
            self.place_all(vec![done])?;
        }
        Ok(())
    }

    /// Enters the folder at the walk's path.
    fn enter(&mut self, inside: Inside) {
        let Inside { dir, number, names, ignored, foreign } = inside;
        let known = self.input.cache.folder(self.below());
        if !self.stack.is_empty() {
            self.path.push(b'/');
        }
        let has_repository = !self.stack.is_empty() && ignored.is_none() && has_git(&names);
        if has_repository {
            self.enter_repository(&dir, number);
        }
        let has_rules = ignored.is_none() && self.rules.enter(&dir, self.path.len());
        self.stack.push(At {
            dir,
            number,
            names: names.into_iter(),
            known,
            len: self.path.len(),
            has_rules,
            has_repository,
            ignored,
            foreign,
        });
    }

    /// Enters a repository in the workspace, whose index decides in it.
    fn enter_repository(&mut self, dir: &Dir, number: u32) {
        let below = OsStr::from_bytes(self.below());
        let folder = self.input.folder.join(below);
        if !self.rules.enter_repository(dir, &folder, self.path.len()) {
            let path = PathBytes::from([self.below(), INDEX].concat().as_slice());
            self.skip_path(number, path, SkipReason::Denied, 0);
        }
        // A change of the index causes no event of the folder.
        self.assembly.mark(number, |marks| marks.limits = true);
    }

    /// Returns the walk's path below the workspace.
    pub(super) fn below(&self) -> &[u8] {
        self.path.get(self.base..).unwrap_or_default()
    }

    /// Lists the entry at the walk's path as left out.
    pub(super) fn skip(&mut self, folder: u32, reason: SkipReason, size: u64) {
        let path = PathBytes::from(self.below());
        self.skip_path(folder, path, reason, size);
    }

    pub(super) fn skip_path(
        &mut self,
        folder: u32,
        path: PathBytes,
        reason: SkipReason,
        size: u64,
    ) {
        // No event reports that a file becomes readable or stops changing.
        if matches!(reason, SkipReason::Denied | SkipReason::Unstable) {
            self.assembly.mark(folder, |marks| marks.restless = true);
        }
        self.skips.push(Skip { path, reason, size });
    }

    /// Scans one name. Returns it if it is a folder to enter.
    fn entry(&mut self, at: &mut At<'a>, name: &[u8]) -> Result<Option<Inside>> {
        self.path.extend_from_slice(name);
        let depth = self.stack.len();
        if Name::is_git(name) {
            self.skip(at.number, SkipReason::Git, 0);
            return Ok(None);
        }
        let Ok(checked) = Name::new(name) else {
            self.skip(at.number, SkipReason::Name, 0);
            return Ok(None);
        };
        if self.below().len() > TreePath::LEN_MAX || depth >= TreePath::DEPTH_MAX {
            self.skip(at.number, SkipReason::Deep, 0);
            return Ok(None);
        }
        if depth == 0 && STAGING.iter().any(|staging| name.starts_with(staging)) {
            self.skip(at.number, SkipReason::Staging, 0);
            return Ok(None);
        }
        for _ in 0..LOOKS {
            let found = match at.dir.look(name) {
                Ok(found) => found,
                Err(Errno::NOENT) => return Ok(None),
                Err(e) if is_denied(e) => {
                    self.skip(at.number, SkipReason::Denied, 0);
                    return Ok(None);
                }
                Err(e) => return Err(error::below("look at", self.below(), e)),
            };
            self.grain.see(&found.stamp);
            if self.is_left_out(at, name, &found)? {
                return Ok(None);
            }
            let entry = match found.kind {
                Kind::File => self.file(at, &checked, &found)?,
                Kind::Link => self.link(at, &checked, &found)?,
                Kind::Directory => self.directory(at, &checked, &found)?,
                Kind::Special => EntryOutcome::Done,
            };
            match entry {
                EntryOutcome::Done => return Ok(None),
                EntryOutcome::Folder(inside) => return Ok(Some(inside)),
                EntryOutcome::Changed => {}
            }
        }
        self.skip(at.number, SkipReason::Unstable, 0);
        Ok(None)
    }

    /// Checks whether an entry is left out because of its kind or a rule. If so, lists it.
    fn is_left_out(&mut self, at: &At<'_>, name: &[u8], found: &Listed) -> Result<bool> {
        let is_directory = found.kind == Kind::Directory;
        let size = if found.kind == Kind::File { found.stamp.size } else { 0 };
        let reason = if found.kind == Kind::Special {
            Some(SkipReason::Special)
        } else if is_directory && self.input.store == Some(found.identity()) {
            Some(SkipReason::Store)
        } else if is_directory && found.device != self.root.device {
            // Only for folders: on overlay file systems, files can have other devices.
            Some(SkipReason::Mount)
        } else if let Some(reason) =
            at.ignored.or_else(|| self.rules.ignored(&self.path, is_directory))
        {
            let forget = self.input.options.forget_ignored;
            let tracked = self.rules.is_tracked(&self.path, is_directory);
            let recorded = !tracked && !forget && self.last.has(name, self.input.chunks)?;
            self.assembly.mark(at.number, |marks| marks.ignored |= recorded);
            (!recorded && !tracked).then_some(reason)
        } else {
            None
        };
        if let Some(reason) = reason {
            self.skip(at.number, reason, size);
        }
        Ok(reason.is_some())
    }
}

/// Returns a symlink's item; `None` if its target cannot be stored.
pub(super) fn link_item(target: Vec<u8>, bits: u16) -> Option<Item> {
    let fits = !target.is_empty() && target.len() <= EntryKind::TARGET_MAX;
    let kind = EntryKind::Link { target: target.into() };
    fits.then_some(Item { mode: bits, kind })
}

/// Returns `true` if an error means that an entry cannot be read.
pub(super) fn is_denied(error: Errno) -> bool {
    matches!(error, Errno::ACCESS | Errno::PERM | Errno::IO)
}

pub(super) fn names_of(dir: &Dir) -> Result<Vec<Box<[u8]>>, Errno> {
    let mut names = dir.names(ENTRIES_MAX)?;
    names.sort_unstable();
    Ok(names)
}

pub(super) fn looks_bare(names: &[Box<[u8]>]) -> bool {
    [&b"objects"[..], b"refs", b"HEAD"].into_iter().all(|name| has(names, name))
}

pub(super) fn has_git(names: &[Box<[u8]>]) -> bool {
    has(names, b".git")
}

fn has(names: &[Box<[u8]>], name: &[u8]) -> bool {
    names.binary_search_by(|found| (**found).cmp(name)).is_ok()
}
