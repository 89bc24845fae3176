//! Verification of one range of a log: its chain, and the content that its records refer to.

use std::cell::RefCell;
use std::collections::HashMap;

use milepost_codec::{
    Body, BodyForm, Chain, CheckpointMarked, ChunkId, ChunkedBody, Control, DataAttached, Error,
    Hash, Head, LineageId, LogId, LogKind, Offset, Origin, RecordRef, Result, Seq, checkpoint_id,
};
use milepost_replay::Verifier;
use milepost_store::Extent;
use milepost_store::digest::Digest;
use milepost_store::index::IndexPut;
use milepost_store::index::keys::KeyKind;
use milepost_store::index::{IndexInput, PriorIndex, index_record};
use milepost_store::liveness::{LiveSection, Liveness};

use super::Fault;
use super::captures::Named;
use crate::history::catalog::Catalog;
use crate::history::events::read_body;

/// Records of a log, from the first extent that begins in the range to the last.
pub(super) struct Range<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) id: LogId,
    pub(super) from: Offset,
    pub(super) to: Offset,
    /// The head at the start of the verification. Later events are not checked.
    pub(super) limit: Offset,
    pub(super) until: Seq,
    /// The first offset after a trim. Only files still hold earlier events.
    pub(super) begin: Offset,
    /// The offsets of snapshots, in order.
    pub(super) points: &'a [Offset],
    pub(super) live: &'a Liveness,
}

/// Result of verifying a range.
#[derive(Debug, Default)]
pub(super) struct Ranged {
    pub(super) from: Offset,
    /// The beginning of its first extent and the end of its last; `None` if no extent begins in it.
    pub(super) span: Option<(Head, Head)>,
    pub(super) events: u64,
    pub(super) bytes: u64,
    pub(super) blocks: u64,
    pub(super) checkpoints: u64,
    /// Workspaces captured in the range.
    pub(super) captures: Vec<Named>,
    /// Checkpoints that are in the index.
    pub(super) listed: Vec<Offset>,
    /// Checkpoints without an index entry. Retention must have removed them.
    pub(super) unlisted: Vec<Offset>,
    /// The number of index entries that follow from the range, by kind.
    pub(super) entries: Box<Kinds>,
    /// The hashes at the offsets of snapshots.
    pub(super) hashes: Vec<(Offset, Hash)>,
    /// The digest of its sections, up to the last compared commit.
    pub(super) sections: Digest,
    pub(super) faults: Vec<Fault>,
    /// Set if the range could not be read to its end.
    pub(super) broken: bool,
}

/// A number for each kind of entry.
#[derive(Debug)]
pub(super) struct Kinds([u64; 256]);

impl Default for Kinds {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl std::ops::Deref for Kinds {
    type Target = [u64; 256];
    fn deref(&self) -> &[u64; 256] {
        &self.0
    }
}

impl Ranged {
    pub(super) fn failed(error: Error) -> Self {
        Self { faults: vec![Fault::of("index", &error)], broken: true, ..Self::default() }
    }
}

impl Range<'_> {
    pub(super) fn verify(&self, origin: Origin) -> Ranged {
        let mut ranged = Ranged { from: self.from, ..Ranged::default() };
        if let Err(error) = self.walk(origin, &mut ranged) {
            ranged.faults.push(Fault::of(self.id, &error));
            ranged.broken = true;
        }
        ranged
    }

    fn walk(&self, origin: Origin, ranged: &mut Ranged) -> Result<()> {
        let chain = self.catalog.chain(origin, self.id);
        let mut at = self.from;
        let mut verifier: Option<Verifier> = None;
        while at < self.to {
            let extent = self.catalog.log().extent(self.id, at)?;
            let extent = extent.ok_or_else(|| {
                Error::corrupt(self.id.to_string(), format!("offset {at}"), "nothing")
            })?;
            let from = match &mut verifier {
                // An extent that begins before this range belongs to the earlier range.
                None if extent.first < self.from => {
                    at = extent.end();
                    continue;
                }
                None => {
                    let start = Head { next: extent.first, hash: extent.prev };
                    ranged.span = Some((start, start));
                    verifier = Some(Verifier::new(chain, start));
                    0
                }
                Some(verifier) => self.follow(chain, verifier, &extent)?,
            };
            let Some(verifier) = verifier.as_mut() else {
                break;
            };
            self.sections(origin, verifier, &extent, from, ranged)?;
            ranged.blocks += 1;
            at = verifier.head().next;
            if let Some((_, end)) = &mut ranged.span {
                *end = verifier.head();
            }
        }
        if let Some((_, end)) = ranged.span {
            ranged.hashes.push((end.next, end.hash));
        }
        Ok(())
    }

    /// Returns the number of sections of an extent that were already checked: the applier may have
    /// packed them into one block with the next ones.
    fn follow(&self, chain: Chain, verifier: &Verifier, extent: &Extent) -> Result<usize> {
        let mut skipped = Verifier::new(chain, Head { next: extent.first, hash: extent.prev });
        let mut count = 0;
        for section in extent.sections() {
            if skipped.head().next >= verifier.head().next {
                break;
            }
            skipped.section(skipped.head().next, &section?)?;
            count += 1;
        }
        if skipped.head() == verifier.head() {
            return Ok(count);
        }
        let name = |head: Head| format!("offset {} after {}", head.next, head.hash);
        Err(Error::corrupt(self.id.to_string(), name(verifier.head()), name(skipped.head())))
    }

    fn sections(
        &self,
        origin: Origin,
        verifier: &mut Verifier,
        extent: &Extent,
        skip: usize,
        ranged: &mut Ranged,
    ) -> Result<()> {
        for (n, section) in extent.sections_and_bytes().enumerate() {
            let (section, bytes) = section?;
            if n < skip {
                continue;
            }
            let first = verifier.head().next;
            if first >= self.limit {
                break;
            }
            if section.seq <= self.until {
                let place = milepost_store::place;
                match self.live.part(self.id, first, &section)? {
                    LiveSection::Nothing => {}
                    LiveSection::Whole => ranged.sections.add(&place(first), bytes),
                    LiveSection::Other(first, bytes) => ranged.sections.add(&place(first), &bytes),
                }
            }
            ranged.events += u64::from(section.count);
            ranged.bytes += section.records.len() as u64;
            let (mut puts, mut marks, mut faults) = (Vec::new(), Vec::new(), Vec::new());
            let hashes = &mut ranged.hashes;
            let captures = RefCell::new(Vec::new());
            verifier.section_with(first, &section, &mut |offset, record, before, _| {
                self.check_base(offset, before)?;
                if self.points.binary_search(&offset).is_ok() {
                    hashes.push((offset, *before));
                }
                let record = Placed {
                    range: self,
                    origin,
                    offset,
                    seq: section.seq,
                    record,
                    before,
                    captures: &captures,
                };
                // A record's content may be damaged although its chain is intact.
                match record.check(&mut puts) {
                    Ok(None) => {}
                    Ok(Some(listed)) => marks.push((offset, listed)),
                    Err(error) => {
                        faults.push(Fault::of_event(self.id, offset, &error));
                    }
                }
                Ok(())
            })?;
            let checkpoints = marks.iter().filter(|(_, listed)| listed.is_checkpoint);
            ranged.checkpoints += checkpoints.count() as u64;
            ranged.captures.append(&mut captures.into_inner());
            ranged.faults.append(&mut faults);
            for (offset, Listed { entries, is_checkpoint }) in marks {
                // The idempotency key of a mark outlives it.
                let is_key = |(key, _): &IndexPut| key.first() == Some(&(KeyKind::Key as u8));
                let (keys, entries): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_key);
                puts.extend(keys);
                if self.is_listed(&entries)? {
                    ranged.listed.extend(is_checkpoint.then_some(offset));
                    puts.extend(entries);
                } else {
                    ranged.unlisted.push(offset);
                }
            }
            self.entries(&puts, ranged)?;
        }
        Ok(())
    }

    /// Checks that the chain leads to the base that replaces the trimmed events.
    fn check_base(&self, offset: Offset, hash: &Hash) -> Result<()> {
        match self.live.base(self.id) {
            Some(base) if base.next == offset && base.hash != *hash => Err(Error::corrupt(
                format!("base of {} at offset {offset}", self.id),
                *hash,
                base.hash,
            )),
            _ => Ok(()),
        }
    }

    /// Returns `true` if a checkpoint or attached data has any index entry.
    fn is_listed(&self, entries: &[IndexPut]) -> Result<bool> {
        for (key, _) in entries {
            if self.catalog.log().get(key)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Compares entries that follow from records with the stored ones.
    fn entries(&self, puts: &[IndexPut], ranged: &mut Ranged) -> Result<()> {
        for (key, value) in puts {
            let found = self.catalog.log().get(key)?;
            if found != *value {
                let kind = key.first().expect("a key begins with its kind");
                let found = if found.is_some() { "another" } else { "none" };
                let error = Error::corrupt(
                    format!("index of {}", self.id),
                    format!("the entry of kind {kind} that follows from an event"),
                    found,
                );
                ranged.faults.push(Fault::of(self.id, &error));
            }
            if let Some(count) =
                key.first().and_then(|kind| ranged.entries.0.get_mut(*kind as usize))
            {
                *count += 1;
            }
        }
        Ok(())
    }
}

/// A record and its position.
struct Placed<'a> {
    range: &'a Range<'a>,
    origin: Origin,
    offset: Offset,
    seq: Seq,
    record: &'a RecordRef<'a>,
    before: &'a Hash,
    /// The list to which captured workspaces are added.
    captures: &'a RefCell<Vec<Named>>,
}

/// Index entries of a checkpoint or of attached data, which retention may have removed.
struct Listed {
    entries: Vec<IndexPut>,
    is_checkpoint: bool,
}

impl Placed<'_> {
    /// Checks the content that a record refers to, and adds the entries that follow from it. For a
    /// checkpoint and attached data it returns the entries instead. Entries of control logs are
    /// compared elsewhere, in the order of the whole log.
    fn check(&self, puts: &mut Vec<IndexPut>) -> Result<Option<Listed>> {
        let (catalog, id, record) = (self.range.catalog, self.range.id, self.record);
        let header = record.header()?;
        if record.form == BodyForm::Chunked {
            let body = ChunkedBody::decode(record.payload)?;
            Body::decode(header.kind, &read_body(catalog.log(), &body)?)?;
        }
        if record.form == BodyForm::Erased && !self.range.live.is_erased(id, self.offset) {
            return Err(Error::corrupt(
                "its body",
                "a body, or an event that erased it",
                "an erased one",
            ));
        }
        let payload = (record.form == BodyForm::Inline).then_some(record.payload);
        if matches!(id.kind, LogKind::Control) {
            return match payload {
                Some(payload) => Control::decode(header.kind, payload).map(|_| None),
                None => Ok(None),
            };
        }
        if let (16, Some(payload), true) = (header.kind, payload, self.offset >= self.range.begin)
            && let Body::WorkspaceCaptured(captured) = Body::decode(header.kind, payload)?
        {
            self.captures.borrow_mut().push(Named {
                log: id,
                offset: self.offset,
                root: ChunkId(captured.root.0),
            });
        }
        let marks = header.kind == CheckpointMarked::KIND && payload.is_some();
        let attaches = header.kind == DataAttached::KIND;
        if (!marks && !attaches && header.key.is_none()) || self.offset < self.range.begin {
            return Ok(None);
        }
        let mut found = Vec::new();
        index_record(
            &IndexInput {
                log: id,
                origin: self.origin,
                offset: self.offset,
                before: *self.before,
                seq: self.seq,
                header: &header,
                payload,
            },
            &mut PriorIndex { entry: &|_| Ok(None), tallies: &mut HashMap::new() },
            &mut found,
        )?;
        // The tally is compared with the listed checkpoints.
        found.retain(|(key, _)| key.first() != Some(&(KeyKind::Tally as u8)));
        if self.range.live.is_gone(id) {
            self.retain_own(&mut found)?;
        }
        if attaches {
            return Ok(Some(Listed { entries: found, is_checkpoint: false }));
        }
        if !marks {
            puts.append(&mut found);
            return Ok(None);
        }
        let (LogKind::Lineage(lineage), Some(payload)) = (id.kind, payload) else {
            return Ok(None);
        };
        let Body::CheckpointMarked(mark) = Body::decode(header.kind, payload)? else {
            return Ok(None);
        };
        self.check_mark(lineage, &mark, header.time_us)?;
        Ok(Some(Listed { entries: found, is_checkpoint: true }))
    }

    /// Compares the hash that a mark of an earlier offset names with the log's.
    fn check_mark(&self, lineage: LineageId, mark: &CheckpointMarked, time_us: u64) -> Result<()> {
        let (catalog, id) = (self.range.catalog, self.range.id);
        let Some(at) = mark.at else {
            return Ok(());
        };
        let ancestry = crate::history::events::Ancestry::of(catalog, id.task, lineage)?;
        if at.next < ancestry.begin() {
            return Ok(());
        }
        let owner = ancestry.hash_owner(at.next).unwrap_or(lineage);
        let log = LogId::lineage(id.task, owner);
        let hash = crate::history::chain_hash::hash_at(catalog, self.origin, log, at.next)?;
        if hash == at.hash {
            return Ok(());
        }
        let head = Head { next: self.offset, hash: *self.before };
        let digest = checkpoint_id(self.origin, lineage, head, time_us, mark);
        let place = format!("checkpoint {digest} of {id} at offset {}", self.offset);
        Err(Error::corrupt(place, hash, at.hash))
    }

    /// Removes the id entry of a checkpoint if it differs from the stored one: a deleted task may
    /// have been imported again with the same checkpoint ids, which then name the new checkpoints.
    fn retain_own(&self, found: &mut Vec<IndexPut>) -> Result<()> {
        let of_ids = |(key, _): &IndexPut| key.first() == Some(&(KeyKind::MarkId as u8));
        let Some(at) = found.iter().position(of_ids) else {
            return Ok(());
        };
        let (key, value) = found.swap_remove(at);
        if self.range.catalog.log().get(&key)? == value {
            found.push((key, value));
        }
        Ok(())
    }
}

/// Returns the hash that a log begins with: its root's, its parent's at the fork, or its base's.
pub(super) fn start_hash(
    catalog: &Catalog,
    origin: Origin,
    id: LogId,
    start: Offset,
) -> Result<Hash> {
    let chain = catalog.chain(origin, id);
    let LogKind::Lineage(lineage) = id.kind else {
        return Ok(chain.root());
    };
    let entry = catalog.lineage_ever(id.task, lineage)?;
    let (parent, base) = (entry.parent, catalog.base(id.task, lineage)?);
    if let Some(base) = base.filter(|base| base.head.next == start) {
        return Ok(base.head.hash);
    }
    // The rest of a lineage that was dropped, or trimmed again, begins at an earlier base. Only
    // files still hold it, and the chain from there to the base is checked.
    if (base.is_some() || entry.dropped) && start > parent.map_or(0, |parent| parent.offset) {
        let extent = catalog.log().extent(id, start)?;
        return Ok(extent.map_or_else(|| chain.root(), |extent| extent.prev));
    }
    let Some(parent) = parent else {
        return Ok(chain.root());
    };
    let cut = catalog.base(id.task, parent.lineage)?.is_some()
        || catalog.lineage_ever(id.task, parent.lineage)?.dropped;
    let log = LogId::lineage(id.task, parent.lineage);
    let start = catalog.log().head(log)?.map_or(Offset::MAX, |head| head.start);
    if cut && start >= parent.offset {
        // The parent's events are removed: only the recorded hash of the fork remains.
        return Ok(parent.hash);
    }
    let log = match cut {
        true => log,
        false => {
            let ancestry = crate::history::events::Ancestry::of(catalog, id.task, parent.lineage)?;
            let owner = ancestry.hash_owner(parent.offset);
            LogId::lineage(id.task, owner.unwrap_or(parent.lineage))
        }
    };
    let hash = crate::history::chain_hash::hash_at(catalog, origin, log, parent.offset)?;
    if hash != parent.hash {
        let place = format!("{id}, fork at {}", parent.offset);
        return Err(Error::corrupt(place, hash, parent.hash));
    }
    Ok(hash)
}
