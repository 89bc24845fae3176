//! A lineage and what it inherits.

use milepost_codec::{Error, LineageId, Offset, Result, TaskNo};

use crate::catalog::Catalog;
use crate::index::BaseEntry;

/// A lineage and what it inherits: for each owner, from which offset and up to which.
#[derive(Debug, Clone)]
pub(crate) struct Ancestry {
    /// Oldest first.
    spans: Vec<(LineageId, Offset, Offset)>,
    /// Where the oldest of them begins since it was trimmed.
    base: Option<BaseEntry>,
}

impl Ancestry {
    /// The ancestry of a lineage. Its own span is open at the end.
    pub(crate) fn of(catalog: &Catalog, task: TaskNo, lineage: LineageId) -> Result<Self> {
        let mut spans = Vec::new();
        let (mut at, mut to) = (lineage, Offset::MAX);
        let base = loop {
            let entry = catalog.lineage_ever(task, at)?;
            if let Some(base) = catalog.base(task, at)? {
                spans.push((at, base.head.next, to));
                break Some(base);
            }
            let from = entry.parent.map_or(0, |parent| parent.offset);
            if from > to {
                return Err(Error::corrupt(
                    format!("lineage {at}"),
                    format!("a fork at {to} or before"),
                    from,
                ));
            }
            spans.push((at, from, to));
            match entry.parent {
                // A parent was opened before its child: a cycle cannot pass.
                Some(parent) if parent.lineage < at => (at, to) = (parent.lineage, parent.offset),
                Some(parent) => {
                    let found = format!("lineage {}", parent.lineage);
                    return Err(Error::corrupt(
                        format!("lineage {at}"),
                        "an older parent",
                        found,
                    ));
                }
                None => break None,
            }
        };
        spans.reverse();
        Ok(Self { spans, base })
    }

    /// The first offset that is there.
    pub(crate) fn begin(&self) -> Offset {
        self.base.map_or(0, |base| base.head.next)
    }

    /// The base it begins with, and whose that is.
    pub(crate) fn base(&self) -> Option<(LineageId, BaseEntry)> {
        let (owner, ..) = self.spans.first()?;
        Some((*owner, self.base?))
    }

    /// `NotFound` where an offset is before what is there.
    pub(crate) fn check(&self, offset: Offset) -> Result<()> {
        let begin = self.begin();
        if offset >= begin {
            return Ok(());
        }
        Err(Error::not_found(format!(
            "offset {offset} is gone: retention trimmed what is before offset {begin}"
        )))
    }

    /// Up to where two histories are one; nothing where what they shared was trimmed, or is none.
    pub(crate) fn common(&self, other: &Self) -> Option<Offset> {
        let spans = self.spans.iter().rev();
        let mut shared = spans.filter_map(|(owner, _, to)| {
            let theirs = other.spans.iter().find(|(found, ..)| found == owner);
            theirs.map(|(_, _, their_to)| *to.min(their_to))
        });
        shared.next()
    }

    /// The owners of offsets before `before`, newest first: lineage, from, to.
    pub(crate) fn newest_first(
        &self,
        before: Offset,
    ) -> impl Iterator<Item = (LineageId, Offset, Offset)> + '_ {
        let spans = self.spans.iter().rev();
        spans
            .map(move |(owner, from, to)| (*owner, *from, (*to).min(before)))
            .filter(|(_, from, to)| from < to)
    }

    /// The lineage that holds the event at an offset.
    pub(crate) fn owner(&self, offset: Offset) -> Option<LineageId> {
        let spans = self.spans.iter();
        spans
            .rev()
            .find(|(_, from, to)| (*from..*to).contains(&offset))
            .map(|(owner, ..)| *owner)
    }

    /// The lineage whose chain has a hash at an offset: the owner of the event before it.
    pub(crate) fn hash_owner(&self, offset: Offset) -> Option<LineageId> {
        match offset.checked_sub(1).filter(|_| offset > self.begin()) {
            Some(before) => self.owner(before),
            None => self.spans.first().map(|(owner, ..)| *owner),
        }
    }
}
