//! Chain hashes of points, computed again from the events before them.

use milepost_codec::{Error, Hash, LineageId, LogId, LogKind, Offset, Origin, Result, TaskNo};

use super::events::Ancestry;
use crate::history::catalog::Catalog;

/// Returns the chain hash of a log before `offset`, computed from the extent before it.
pub(crate) fn hash_at(
    catalog: &Catalog,
    origin: Origin,
    id: LogId,
    offset: Offset,
) -> Result<Hash> {
    let mut hashes = Hashes::of(catalog);
    // Reuses the hashes of the last call, for callers that ask for one offset after the other. A
    // hash at an offset never changes.
    hashes.walked = catalog.walked.lock().take();
    let hash = hashes.at(origin, id, offset);
    *catalog.walked.lock() = hashes.walked;
    hash
}

/// Computes hashes of several points. Descending order is fastest, since the hashes of the last
/// extent are cached.
pub(crate) struct Hashes<'a> {
    catalog: &'a Catalog,
    walked: Option<HashCache>,
    /// The lineage of the last call.
    lineage: Option<OpenLineage>,
}

/// A lineage with its origin and ancestry.
struct OpenLineage {
    task: TaskNo,
    lineage: LineageId,
    origin: Origin,
    ancestry: Ancestry,
}

/// Hashes of a log from the beginning of an extent.
#[derive(Debug)]
pub(crate) struct HashCache {
    id: LogId,
    /// The offset of the first hash, which covers the events before it.
    first: Offset,
    hashes: Vec<Hash>,
}

impl HashCache {
    fn at(&self, id: LogId, offset: Offset) -> Option<Hash> {
        let place = offset.checked_sub(self.first).filter(|_| id == self.id)?;
        self.hashes.get(usize::try_from(place).ok()?).copied()
    }
}

impl<'a> Hashes<'a> {
    pub(crate) fn of(catalog: &'a Catalog) -> Self {
        Self { catalog, walked: None, lineage: None }
    }

    /// Returns the chain hash of a lineage before `offset`, which may belong to an ancestor.
    pub(crate) fn of_lineage(
        &mut self,
        task: TaskNo,
        lineage: LineageId,
        offset: Offset,
    ) -> Result<Hash> {
        let known = self.known(task, lineage)?;
        let owner = known.ancestry.hash_owner(offset).unwrap_or(lineage);
        let origin = known.origin;
        self.at(origin, LogId::lineage(task, owner), offset)
    }

    fn known(&mut self, task: TaskNo, lineage: LineageId) -> Result<&OpenLineage> {
        let known = self.lineage.take();
        let known = known.filter(|known| (known.task, known.lineage) == (task, lineage));
        let known = match known {
            Some(known) => known,
            None => OpenLineage {
                task,
                lineage,
                origin: self.catalog.task(task)?.origin,
                ancestry: Ancestry::of(self.catalog, task, lineage)?,
            },
        };
        Ok(self.lineage.insert(known))
    }

    /// Returns the chain hash of a log before `offset`.
    pub(crate) fn at(&mut self, origin: Origin, id: LogId, offset: Offset) -> Result<Hash> {
        if let LogKind::Lineage(lineage) = id.kind
            && let Some(base) = self.catalog.base(id.task, lineage)?
            && base.head.next == offset
        {
            return Ok(base.head.hash);
        }
        let Some(before) = offset.checked_sub(1) else {
            return Ok(self.catalog.chain(origin, id).root());
        };
        if let Some(head) = self.catalog.log().head(id)?
            && head.head.next == offset
        {
            return Ok(head.head.hash);
        }
        if let Some(hash) = self.walked.as_ref().and_then(|walked| walked.at(id, offset)) {
            return Ok(hash);
        }
        let walked = self.walk(origin, id, before)?;
        let last = walked.hashes.last().copied();
        self.walked = Some(walked);
        last.ok_or_else(|| no_event(id, before))
    }

    /// Computes the hashes of the extent that holds the record at `until`, up to that record.
    fn walk(&self, origin: Origin, id: LogId, until: Offset) -> Result<HashCache> {
        let (log, chain) = (self.catalog.log(), self.catalog.chain(origin, id));
        let extent = log.extent(id, until)?.ok_or_else(|| no_event(id, until))?;
        let (first, mut hash) = (extent.first, extent.prev);
        let (mut at, mut hashes) = (first, vec![hash]);
        for section in extent.sections() {
            let section = section?;
            for (index, record) in (0_u32..).zip(section.iter()) {
                let record = record?;
                if at > until {
                    return Ok(HashCache { id, first, hashes });
                }
                let known = self.walked.as_ref();
                hash = match known.and_then(|walked| walked.at(id, at + 1)) {
                    Some(known) => known,
                    None => {
                        let body = record.body_hash(&section.salt(index))?;
                        chain.next(at, &hash, record.header, &body)
                    }
                };
                hashes.push(hash);
                at += 1;
            }
        }
        Ok(HashCache { id, first, hashes })
    }
}

fn no_event(id: LogId, offset: Offset) -> Error {
    Error::not_found(format!("{id} has no event at offset {offset}"))
}
