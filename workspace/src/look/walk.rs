//! The walk: folders one below the other by their descriptors, names in order. It decides what is taken;
//! what the cache knows is taken from there, what it does not know goes to the workers.

use milepost::Result;
use milepost_codec::{Entry, EntryKind, Item, Name, PathBytes, Skip, SkipReason, TreePath};

use std::sync::atomic::Ordering;

use super::assemble::Assembly;
use super::jobs::Jobs;
use super::last::Lasts;
use super::rules::Rules;
use super::work::{Grain, JobFile, Ticket};
use super::{Looked, Looking, SharedDir, Storing};
use crate::cache::InFolder;
use crate::error;
use crate::fs::{Dir, Errno, Kind, Listed, Moment, is_bare_repository};

/// The most entries of a directory.
const ENTRIES_MAX: usize = milepost_codec::Leaf::ENTRIES_MAX as usize;

/// What a restore leaves in the root of a workspace while it is under way, and behind it.
const STAGING: [&[u8]; 2] = [b".milepost-restore-", b".milepost-kept-"];

/// How often a name is looked at that changes under the look.
const LOOKS: usize = 3;

/// A folder that the walk is in. They are on a stack of their own, since folders may be deep.
struct At<'a> {
    dir: SharedDir,
    /// Its number in the assembly.
    number: u32,
    names: std::vec::IntoIter<Box<[u8]>>,
    /// What the cache knows of it.
    known: InFolder<'a>,
    /// Bytes of its path, with the `/` behind it.
    len: usize,
    has_rules: bool,
    /// Whether a rule ignores it, so that only what is recorded is taken.
    ignored: bool,
}

/// A folder to go into.
struct Inside {
    dir: SharedDir,
    number: u32,
    names: Vec<Box<[u8]>>,
    ignored: bool,
}

/// What one look at a name came to.
enum Seen {
    /// It is taken, or left out.
    Done,
    /// It is a folder.
    Folder(Inside),
    /// Something else stands there by now.
    Changed,
}

/// One look at a folder.
pub(super) struct Walk<'a, 'scope, 'env> {
    pub(super) looking: &'a Looking<'a>,
    pub(super) jobs: Jobs<'scope, 'env>,
    pub(super) assembly: Assembly<'a>,
    grain: &'a Grain,
    pub(super) now: Moment,
    root: Listed,
    rules: Rules,
    last: Lasts,
    /// The folders that the walk is in, from the root down.
    stack: Vec<At<'a>>,
    /// The path of the folder where the walk is, with a `/` behind it, behind the base of the rules.
    path: Vec<u8>,
    base: usize,
    skips: Vec<Skip>,
    /// Bytes that were taken, and whether the limit was reached.
    total: u64,
    full: bool,
    pub(super) read: u64,
    pub(super) stored: u64,
    known: u64,
    /// What has to be read again, and for the how manieth time.
    pub(super) again: Vec<(Ticket, u8)>,
}

impl<'a, 'scope, 'env> Walk<'a, 'scope, 'env> {
    pub(super) fn new(
        looking: &'a Looking<'a>,
        jobs: Jobs<'scope, 'env>,
        grain: &'a Grain,
        now: Moment,
        root: Listed,
    ) -> Self {
        let rules = Rules::above(looking.folder);
        let path = rules.base().to_vec();
        Self {
            looking,
            jobs,
            assembly: Assembly::new(Storing::new(looking.chunks, looking.ask)),
            grain,
            now,
            root,
            base: path.len(),
            path,
            rules,
            last: Lasts::new(looking.recorded),
            stack: Vec::new(),
            skips: Vec::new(),
            total: 0,
            full: false,
            read: 0,
            stored: 0,
            known: 0,
            again: Vec::new(),
        }
    }

    /// Looks at all of it.
    pub(super) fn all(mut self) -> Result<Looked> {
        let root = self
            .looking
            .root
            .again()
            .map_err(|e| error::below("open", b"", e))?;
        let names = names_of(&root).map_err(|e| error::below("list", b"", e))?;
        let number = self.assembly.begin(None, b"", 0);
        self.enter(SharedDir::new(root), number, names, false);
        while let Some(mut at) = self.stack.pop() {
            self.path.truncate(at.len);
            match at.names.next() {
                Some(name) => {
                    let inside = self.entry(&mut at, &name)?;
                    self.stack.push(at);
                    if let Some(inside) = inside {
                        self.last.enter(&name);
                        self.enter(inside.dir, inside.number, inside.names, inside.ignored);
                    }
                }
                None => {
                    if at.has_rules {
                        self.rules.leave();
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
        let tree = self.assembly.root.ok_or_else(|| {
            milepost::Error::corrupt("the look at the workspace", "a tree", "none")
        })?;
        self.skips.sort_by(|a, b| a.path.cmp(&b.path));
        self.skips.dedup_by(|a, b| a.path == b.path);
        Ok(Looked {
            tree,
            files: self.assembly.files,
            directories: self.assembly.directories,
            links: self.assembly.links,
            bytes: self.assembly.bytes,
            skips: self.skips,
            read: self.read,
            stored: self.stored + self.assembly.stored(),
            known: self.known,
            cache: self.assembly.cache,
        })
    }

    /// Waits for what is under way.
    pub(super) fn finish_jobs(&mut self) -> Result<()> {
        while let Some(done) = self.jobs.next()? {
            self.place_all(vec![done])?;
        }
        Ok(())
    }

    /// Goes into a folder whose path is where the walk is.
    fn enter(&mut self, dir: SharedDir, number: u32, names: Vec<Box<[u8]>>, ignored: bool) {
        let known = self.looking.cache.folder(self.below());
        if !self.stack.is_empty() {
            self.path.push(b'/');
        }
        let has_rules = !ignored && self.rules.enter(&dir, self.path.len());
        self.stack.push(At {
            dir,
            number,
            names: names.into_iter(),
            known,
            len: self.path.len(),
            has_rules,
            ignored,
        });
    }

    /// The path where the walk is, below the workspace.
    fn below(&self) -> &[u8] {
        self.path.get(self.base..).unwrap_or_default()
    }

    /// Lists what is left out, where the walk is.
    fn skip(&mut self, reason: SkipReason, size: u64) {
        let path = PathBytes::from(self.below());
        self.skip_path(path, reason, size);
    }

    pub(super) fn skip_path(&mut self, path: PathBytes, reason: SkipReason, size: u64) {
        self.skips.push(Skip { path, reason, size });
    }

    /// Looks at one name. Gives the folder that it is, to go into.
    fn entry(&mut self, at: &mut At<'a>, name: &[u8]) -> Result<Option<Inside>> {
        self.path.extend_from_slice(name);
        let depth = self.stack.len();
        if name.eq_ignore_ascii_case(b".git") {
            self.skip(SkipReason::Git, 0);
            return Ok(None);
        }
        let Ok(checked) = Name::new(name) else {
            self.skip(SkipReason::Name, 0);
            return Ok(None);
        };
        if self.below().len() > TreePath::LEN_MAX || depth >= TreePath::DEPTH_MAX {
            self.skip(SkipReason::Deep, 0);
            return Ok(None);
        }
        if depth == 0 && STAGING.iter().any(|staging| name.starts_with(staging)) {
            self.skip(SkipReason::Staging, 0);
            return Ok(None);
        }
        for _ in 0..LOOKS {
            let found = match at.dir.look(name) {
                Ok(found) => found,
                Err(Errno::NOENT) => return Ok(None),
                Err(e) if is_denied(e) => {
                    self.skip(SkipReason::Denied, 0);
                    return Ok(None);
                }
                Err(e) => return Err(error::below("look at", self.below(), e)),
            };
            if found.stamp.fine() && !self.grain.fine.load(Ordering::Relaxed) {
                self.grain.fine.store(true, Ordering::Relaxed);
            }
            if self.is_left_out(at.ignored, name, &found)? {
                return Ok(None);
            }
            let entry = match found.kind {
                Kind::File => self.file(at, &checked, &found)?,
                Kind::Link => self.link(at, &checked, &found)?,
                Kind::Directory => self.directory(at, &checked, &found)?,
                Kind::Special => Seen::Done,
            };
            match entry {
                Seen::Done => return Ok(None),
                Seen::Folder(inside) => return Ok(Some(inside)),
                Seen::Changed => {}
            }
        }
        self.skip(SkipReason::Unstable, 0);
        Ok(None)
    }

    /// Whether something is left out for what it is, or by a rule; then it is listed.
    fn is_left_out(&mut self, ignored: bool, name: &[u8], found: &Listed) -> Result<bool> {
        let is_directory = found.kind == Kind::Directory;
        let size = if found.kind == Kind::File {
            found.stamp.size
        } else {
            0
        };
        let reason = if found.kind == Kind::Special {
            Some(SkipReason::Special)
        } else if is_directory && self.looking.store == Some(found.identity()) {
            Some(SkipReason::Store)
        } else if is_directory && found.device != self.root.device {
            // Of folders only: where file systems are laid over each other, files have other devices.
            Some(SkipReason::Mount)
        } else if ignored || self.rules.ignores(&self.path, is_directory) {
            let forget = self.looking.options.forget_ignored;
            let recorded = !forget && self.last.has(name, self.looking.chunks)?;
            (!recorded).then_some(SkipReason::Ignored)
        } else {
            None
        };
        if let Some(reason) = reason {
            self.skip(reason, size);
        }
        Ok(reason.is_some())
    }

    fn file(&mut self, at: &mut At<'a>, name: &Name, found: &Listed) -> Result<Seen> {
        let (stamp, options) = (found.stamp, self.looking.options);
        let taken =
            self.looking.without_limits && self.last.has(name.as_bytes(), self.looking.chunks)?;
        if stamp.size > options.max_file && !taken {
            self.skip(SkipReason::Large, stamp.size);
            return Ok(Seen::Done);
        }
        let total = self.total.saturating_add(stamp.size);
        self.full |= total > options.max_total && !taken;
        if self.full && !taken {
            self.skip(SkipReason::Limit, stamp.size);
            return Ok(Seen::Done);
        }
        self.total += stamp.size;
        self.looking.watched.count(stamp.size);
        let known = at.known.file(name.as_bytes());
        let grain_ns = self.grain.ns();
        if let Some(known) = known
            && known.stamp == stamp
            && stamp.settled(self.now, grain_ns)
        {
            self.known += 1;
            let entry = Entry {
                name: name.clone(),
                item: Item {
                    mode: stamp.bits(),
                    kind: known.content.kind(false),
                },
            };
            let known = Some(Box::new((known.stamp, known.content)));
            self.assembly.add(at.number, entry, known);
            return Ok(Seen::Done);
        }
        let file = JobFile {
            ticket: self.assembly.wait(at.number, name.as_bytes()),
            dir: SharedDir::clone(&at.dir),
            name: name.as_bytes().into(),
            turn: 1,
        };
        let mut done = Vec::new();
        self.jobs.take(file, stamp.size, self.now, &mut done)?;
        self.place_all(done)?;
        Ok(Seen::Done)
    }

    fn link(&mut self, at: &At<'_>, name: &Name, found: &Listed) -> Result<Seen> {
        let target = match at.dir.target(name.as_bytes()) {
            Ok(target) => target,
            Err(Errno::NOENT) => return Ok(Seen::Done),
            Err(Errno::INVAL) => return Ok(Seen::Changed),
            Err(e) if is_denied(e) => {
                self.skip(SkipReason::Denied, 0);
                return Ok(Seen::Done);
            }
            Err(e) => return Err(error::below("read", self.below(), e)),
        };
        match link_item(target, found.stamp.bits()) {
            Some(item) => {
                let name = name.clone();
                self.assembly.add(at.number, Entry { name, item }, None);
            }
            None => self.skip(SkipReason::Name, 0),
        }
        Ok(Seen::Done)
    }

    /// Goes into a folder. Not where something else stands there by now.
    fn directory(&mut self, at: &At<'_>, name: &Name, found: &Listed) -> Result<Seen> {
        let opened = at.dir.directory(name.as_bytes());
        let listed = opened.and_then(|dir| {
            let (itself, names) = (dir.itself()?, names_of(&dir)?);
            Ok((dir, itself, names))
        });
        let (dir, itself, names) = match listed {
            Ok(listed) => listed,
            Err(Errno::NOENT | Errno::STALE) => return Ok(Seen::Done),
            Err(Errno::LOOP | Errno::NOTDIR) => return Ok(Seen::Changed),
            Err(e) if is_denied(e) => {
                self.skip(SkipReason::Denied, 0);
                return Ok(Seen::Done);
            }
            Err(e) => return Err(error::below("open", self.below(), e)),
        };
        if itself.identity() != found.identity() {
            return Ok(Seen::Changed);
        }
        let reason = if dir.is_mount() == Some(true) {
            Some(SkipReason::Mount)
        } else if names.len() > ENTRIES_MAX {
            Some(SkipReason::Wide)
        } else if looks_bare(&names) && is_bare_repository(&dir) {
            Some(SkipReason::Git)
        } else {
            None
        };
        if let Some(reason) = reason {
            self.skip(reason, 0);
            return Ok(Seen::Done);
        }
        let ticket = self.assembly.wait(at.number, name.as_bytes());
        let within = Some((ticket, name.clone()));
        let below = self.path.get(self.base..).unwrap_or_default();
        let number = self.assembly.begin(within, below, itself.stamp.bits());
        // What was recorded in there was recorded although a rule ignores the folder.
        let ignored = at.ignored || self.rules.ignores(&self.path, true);
        Ok(Seen::Folder(Inside {
            dir: SharedDir::new(dir),
            number,
            names,
            ignored,
        }))
    }
}

/// A symlink as it is stored; nothing where its target is none.
pub(super) fn link_item(target: Vec<u8>, bits: u16) -> Option<Item> {
    let fits = !target.is_empty() && target.len() <= EntryKind::TARGET_MAX;
    let kind = EntryKind::Link {
        target: target.into(),
    };
    fits.then_some(Item { mode: bits, kind })
}

/// Whether an error says that what is there cannot be read.
pub(super) fn is_denied(error: Errno) -> bool {
    matches!(error, Errno::ACCESS | Errno::PERM | Errno::IO)
}

fn names_of(dir: &Dir) -> Result<Vec<Box<[u8]>>, Errno> {
    let mut names = dir.names(ENTRIES_MAX)?;
    names.sort_unstable();
    Ok(names)
}

fn looks_bare(names: &[Box<[u8]>]) -> bool {
    let has = |name: &[u8]| names.binary_search_by(|found| (**found).cmp(name)).is_ok();
    has(b"objects") && has(b"refs") && has(b"HEAD")
}
