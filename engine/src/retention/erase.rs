//! Erasure of bodies.

use std::ops::Range;

use milepost_codec::{
    Erased, Error, ErrorKind, Hash, LineageId, LogId, Offset, RecordRef, Result, TEXT_MAX, TaskNo,
    check_size,
};

use super::ViewRetention;
use crate::handles::audit;
use crate::history::catalog::Catalog;
use crate::history::erased::is_erasable;
use crate::history::events::Ancestry;
use crate::history::point::Point;

impl ViewRetention<'_> {
    /// Erases the body of the event at a point permanently. Its header and the hash of its body
    /// stay, so the chain verifies. The next compaction removes the bytes from the disk. Has no
    /// effect on an erased event.
    ///
    /// # Errors
    ///
    /// - `NotFound`: the event does not exist.
    /// - `Invalid`: other events depend on it, or the reason has more than 1,024 bytes.
    /// - `Conflict`: a lineage begins with a base whose state includes it.
    pub fn erase(&self, point: &Point, reason: Option<&str>) -> Result<()> {
        check_size("a reason", reason.map_or(0, str::len), TEXT_MAX)?;
        let inner = &self.view.inner;
        let catalog = &self.view.catalog();
        self.view.shown(point)?;
        let _structure = inner.structure()?;
        let (task, offset) = (point.no, point.offset);
        catalog.readable((task, point.lineage, offset))?;
        let ancestry = Ancestry::of(catalog, task, point.lineage)?;
        let nothing = || Error::not_found(format!("there is no event at {point}"));
        let owner = ancestry.owner(offset).ok_or_else(nothing)?;
        if catalog.erased_of(task).has(owner, offset) {
            return Ok(());
        }
        let (kind, body_hash) = body_of(catalog, task, owner, offset)?.ok_or_else(nothing)?;
        if !is_erasable(kind) {
            let name = milepost_codec::Body::name_of(kind);
            return Err(Error::invalid(format!(
                "an event `{name}` cannot be erased, since others build on it"
            )));
        }
        let bases = catalog.bases_over(task, owner)?;
        if let Some(base) = bases.iter().find(|base| base.holds(offset)) {
            return Err(in_a_base(base, offset));
        }
        let erased =
            Erased { lineage: owner, offset, body_hash, reason: reason.map(str::to_owned) };
        self.commit_control(task, vec![erased.into()])?;
        catalog.now_erased(task, owner, offset);
        inner.withdraw(task);
        audit::AuditEvent::of("event_erased", task, owner).tell(self.view);
        Ok(())
    }
}

/// Returns the kind of an event and the hash of its body.
pub(super) fn body_of(
    catalog: &Catalog,
    task: TaskNo,
    lineage: LineageId,
    offset: Offset,
) -> Result<Option<(u16, Hash)>> {
    let mut found = None;
    let log = LogId::lineage(task, lineage);
    each_body(catalog, log, offset..offset + 1, &mut |_, record, hash| {
        found = Some((record.header()?.kind, hash));
        Ok(())
    })?;
    Ok(found)
}

/// Callback for an event: its offset, its record and the hash of its body.
pub(super) type TakeBody<'a> = dyn FnMut(Offset, &RecordRef<'_>, Hash) -> Result<()> + 'a;

/// Passes the events of a range of one log to `take`. Returns the offset after the last one.
pub(super) fn each_body(
    catalog: &Catalog,
    log: LogId,
    range: Range<Offset>,
    take: &mut TakeBody<'_>,
) -> Result<Offset> {
    let mut next = range.start;
    while next < range.end {
        catalog.cancel().check()?;
        let Some(extent) = catalog.log().extent(log, next)? else {
            break;
        };
        let (before, mut at) = (next, extent.first);
        for section in extent.sections() {
            let section = section?;
            for (index, record) in (0_u32..).zip(section.iter()) {
                let record = record?;
                if at == next && at < range.end {
                    take(at, &record, record.body_hash(&section.salt(index))?)?;
                    next += 1;
                }
                at += 1;
            }
        }
        if next == before {
            return Err(Error::corrupt(log.to_string(), format!("offset {next}"), "fewer records"));
        }
    }
    Ok(next)
}

/// A base, and the events that its lineage inherited from another one.
pub(super) struct BaseOver {
    lineage: LineageId,
    offset: Offset,
    inherited: Range<Offset>,
}

impl BaseOver {
    /// Returns `true` if an event contributed to its state.
    pub(super) fn holds(&self, event: Offset) -> bool {
        event < self.offset && self.inherited.contains(&event)
    }
}

/// Returns the error for an event that is part of a base.
pub(super) fn in_a_base(base: &BaseOver, event: Offset) -> Error {
    let BaseOver { lineage, offset, .. } = base;
    Error::new(
        ErrorKind::Conflict,
        format!(
            "lineage {lineage} begins with a base at offset {offset}, whose state was made of the \
             event at offset {event}: it cannot be taken out of that"
        ),
    )
}

impl Catalog {
    /// Returns the bases of lineages that inherited events of a lineage, or of itself.
    pub(super) fn bases_over(&self, task: TaskNo, owner: LineageId) -> Result<Vec<BaseOver>> {
        let mut bases = Vec::new();
        for (lineage, _) in self.lineages(task)? {
            if let Some(base) = self.base(task, lineage)?
                && let Some(inherited) = self.inherited_of(task, lineage, owner)?
            {
                bases.push(BaseOver { lineage, offset: base.head.next, inherited });
            }
        }
        Ok(bases)
    }

    /// Returns the events of `owner` that a lineage inherited, even if they were trimmed since.
    fn inherited_of(
        &self,
        task: TaskNo,
        lineage: LineageId,
        owner: LineageId,
    ) -> Result<Option<Range<Offset>>> {
        let (mut at, mut to) = (lineage, Offset::MAX);
        loop {
            let entry = self.lineage_ever(task, at)?;
            let from = entry.parent.map_or(0, |parent| parent.offset);
            if at == owner {
                return Ok(Some(from..to));
            }
            match entry.parent {
                Some(parent) if parent.lineage < at => (at, to) = (parent.lineage, parent.offset),
                _ => return Ok(None),
            }
        }
    }
}
