//! Scan of one entry: a file, a symlink or a folder.

use milepost::Result;
use milepost_codec::{Entry, Item, Name, SkipReason};

use super::rules::Rules;
use super::walk::{
    At, ENTRIES_MAX, EntryOutcome, Inside, Walk, has_git, is_denied, link_item, looks_bare,
    names_of,
};
use super::workers::JobFile;
use super::{SharedDir, Since};
use crate::error;
use crate::fs::{Dir, Errno, Listed, is_bare_repository, is_work_tree};
use crate::tree::Counts;

impl<'a> Walk<'a, '_, '_> {
    pub(super) fn file(
        &mut self,
        at: &mut At<'a>,
        name: &Name,
        found: &Listed,
    ) -> Result<EntryOutcome> {
        let (stamp, options) = (found.stamp, self.input.options);
        let taken =
            self.input.without_limits && self.last.has(name.as_bytes(), self.input.chunks)?;
        if stamp.size > options.max_file && !taken {
            self.skip(at.number, SkipReason::Large, stamp.size);
            return Ok(EntryOutcome::Done);
        }
        let total = self.total.saturating_add(stamp.size);
        self.full |= total > options.max_total && !taken;
        if self.full && !taken {
            self.skip(at.number, SkipReason::Limit, stamp.size);
            return Ok(EntryOutcome::Done);
        }
        self.total += stamp.size;
        self.input.states.count(1, stamp.size);
        let forced = stamp.size > options.max_file || total > options.max_total;
        if found.linked && self.has_changed(at) {
            // The links may be new names of a file that the last scan saw in an unchanged folder.
            self.not_enough = true;
        }
        if found.linked || forced {
            self.assembly.mark(at.number, |marks| {
                // It can be written to through another link.
                marks.restless |= found.linked;
                marks.limits |= forced || found.linked && Rules::is_file(name.as_bytes());
            });
        }
        let known = at.known.file(name.as_bytes());
        let grain_ns = self.grain.ns();
        if let Some(known) = known
            && known.stamp == stamp
            && stamp.settled(self.now, grain_ns)
        {
            self.known += 1;
            let entry = Entry {
                name: name.clone(),
                item: Item { mode: stamp.bits(), kind: known.content.kind(false) },
            };
            let known = Some(Box::new((known.stamp, known.content)));
            self.assembly.add(at.number, entry, known);
            return Ok(EntryOutcome::Done);
        }
        let file = JobFile {
            ticket: self.assembly.wait(at.number, name.as_bytes()),
            dir: SharedDir::clone(&at.dir),
            name: name.as_bytes().into(),
            attempt: 1,
        };
        let mut done = Vec::new();
        self.jobs.take(file, stamp.size, self.now, &mut done)?;
        self.place_all(done)?;
        Ok(EntryOutcome::Done)
    }

    pub(super) fn link(
        &mut self,
        at: &At<'_>,
        name: &Name,
        found: &Listed,
    ) -> Result<EntryOutcome> {
        let target = match at.dir.target(name.as_bytes()) {
            Ok(target) => target,
            Err(Errno::NOENT) => return Ok(EntryOutcome::Done),
            Err(Errno::INVAL) => return Ok(EntryOutcome::Changed),
            Err(e) if is_denied(e) => {
                self.skip(at.number, SkipReason::Denied, 0);
                return Ok(EntryOutcome::Done);
            }
            Err(e) => return Err(error::below("read", self.below(), e)),
        };
        match link_item(target, found.stamp.bits()) {
            Some(item) => {
                let name = name.clone();
                self.assembly.add(at.number, Entry { name, item }, None);
            }
            None => self.skip(at.number, SkipReason::Name, 0),
        }
        Ok(EntryOutcome::Done)
    }

    /// Watches the folder of the walk before it is read.
    pub(super) fn watch(&self, dir: &Dir) {
        if let Some(watch) = self.input.watch {
            watch.add(dir, self.below());
        }
    }

    /// Returns `true` if the folder changed since the last scan.
    fn has_changed(&self, at: &At<'_>) -> bool {
        let path = self.path.get(self.base..at.len).unwrap_or_default();
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let changed = |since: &Since| at.foreign || since.has_changed(path);
        self.input.since.is_some_and(changed)
    }

    /// Reuses the last scan of a folder and everything below it, if nothing changed since.
    fn is_unchanged(&mut self, at: &At<'_>, name: &Name, found: &Listed) -> bool {
        let Some(since) = self.input.since.filter(|_| !at.foreign) else {
            return false;
        };
        let path = self.path.get(self.base..).unwrap_or_default();
        if !since.is_unchanged(path, found.identity()) {
            return false;
        }
        let mut counts = Counts::default();
        for (_, seen) in since.last.folders_of(path) {
            counts.add_all(&seen.counts);
        }
        // The files over the limit have to be found one by one.
        let total = self.total.saturating_add(counts.bytes);
        if self.full || total > self.input.options.max_total {
            return false;
        }
        self.total = total;
        self.input.states.count(counts.files, counts.bytes);
        let known = self.assembly.cache.files();
        self.assembly.reuse(at.number, (name, found.stamp.bits()), path, &since.last);
        self.known += self.assembly.cache.files() - known;
        self.skips.extend(since.last.skips_of(path).cloned());
        true
    }

    /// Opens a folder. Returns `Changed` if it was replaced.
    pub(super) fn directory(
        &mut self,
        at: &At<'_>,
        name: &Name,
        found: &Listed,
    ) -> Result<EntryOutcome> {
        if self.is_unchanged(at, name, found) {
            return Ok(EntryOutcome::Done);
        }
        let opened = at.dir.directory(name.as_bytes());
        let listed = opened.and_then(|dir| {
            self.watch(&dir);
            let itself = dir.itself()?;
            let names = names_of(&dir)?;
            Ok((dir, itself, names))
        });
        let (dir, itself, names) = match listed {
            Ok(listed) => listed,
            Err(Errno::NOENT | Errno::STALE) => return Ok(EntryOutcome::Done),
            Err(Errno::LOOP | Errno::NOTDIR) => return Ok(EntryOutcome::Changed),
            Err(e) if is_denied(e) => {
                self.skip(at.number, SkipReason::Denied, 0);
                return Ok(EntryOutcome::Done);
            }
            Err(e) => return Err(error::below("open", self.below(), e)),
        };
        if itself.identity() != found.identity() {
            return Ok(EntryOutcome::Changed);
        }
        let reason = if dir.is_mount() == Some(true) {
            Some(SkipReason::Mount)
        } else if names.len() > ENTRIES_MAX {
            Some(SkipReason::Wide)
        } else if looks_bare(&names) && is_bare_repository(&dir)
            || has_git(&names) && is_work_tree(&dir)
        {
            Some(SkipReason::Git)
        } else {
            None
        };
        if let Some(reason) = reason {
            self.skip(at.number, reason, 0);
            return Ok(EntryOutcome::Done);
        }
        let ticket = self.assembly.wait(at.number, name.as_bytes());
        let within = Some((ticket, name.clone()));
        let below = self.path.get(self.base..).unwrap_or_default();
        let number = self.assembly.begin(within, below, &itself);
        let is_foreign = |since: &Since| since.is_foreign(below, itself.identity());
        let foreign = at.foreign || self.input.since.is_some_and(is_foreign);
        // Recorded entries in it were captured although a rule ignores the folder.
        let ignored = at.ignored.or_else(|| self.rules.ignored(&self.path, true));
        Ok(EntryOutcome::Folder(Inside {
            dir: SharedDir::new(dir),
            number,
            names,
            ignored,
            foreign,
        }))
    }
}
