//! Erasure of bodies.

use milepost_codec::{
    CheckpointAttached, CheckpointMarked, CheckpointUnmarked, ControlChanged, Erased, Error,
    ErrorKind, Hash, LineageId, LineageOpened, LogId, Offset, Restored, Result, TEXT_MAX, TaskNo,
    WorkspaceCaptured, check_size,
};

use super::Retention;
use crate::handles::audit;
use crate::history::catalog::Catalog;
use crate::history::events::Ancestry;
use crate::history::point::Point;

/// Kinds that other events depend on and that cannot be erased: opened lineages, changes of
/// control, captured workspaces, checkpoints and changes of them, restores.
const NEEDED: [u16; 7] = [
    LineageOpened::KIND,
    ControlChanged::KIND,
    WorkspaceCaptured::KIND,
    CheckpointMarked::KIND,
    CheckpointUnmarked::KIND,
    CheckpointAttached::KIND,
    Restored::KIND,
];

impl Retention<'_> {
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
        let inner = &self.engine.inner;
        let catalog = &inner.catalog;
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
        if NEEDED.contains(&kind) {
            let name = milepost_codec::Body::name_of(kind);
            return Err(Error::invalid(format!(
                "an event `{name}` cannot be erased, since others build on it"
            )));
        }
        if let Some((lineage, base)) = catalog.based_on(task, owner, offset)? {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "lineage {lineage} begins with a base at offset {base}, whose state was made \
                     of the event at offset {offset}: it cannot be taken out of that"
                ),
            ));
        }
        let erased =
            Erased { lineage: owner, offset, body_hash, reason: reason.map(str::to_owned) };
        self.commit_control(task, vec![erased.into()])?;
        catalog.now_erased(task, owner, offset);
        inner.withdraw(task);
        audit::AuditEvent::of("event_erased", task, owner).tell(inner);
        Ok(())
    }
}

/// Returns the kind of an event and the hash of its body.
fn body_of(
    catalog: &Catalog,
    task: TaskNo,
    lineage: LineageId,
    offset: Offset,
) -> Result<Option<(u16, Hash)>> {
    let Some(extent) = catalog.log().extent(LogId::lineage(task, lineage), offset)? else {
        return Ok(None);
    };
    let mut at = extent.first;
    for section in extent.sections() {
        let section = section?;
        for (index, record) in (0_u32..).zip(section.iter()) {
            let record = record?;
            if at == offset {
                let hash = record.body_hash(&section.salt(index))?;
                return Ok(Some((record.header()?.kind, hash)));
            }
            at += 1;
        }
    }
    Ok(None)
}

impl Catalog {
    /// Returns a lineage whose base follows an event in its history, and the base's offset.
    fn based_on(
        &self,
        task: TaskNo,
        owner: LineageId,
        offset: Offset,
    ) -> Result<Option<(LineageId, Offset)>> {
        for (lineage, _) in self.lineages(task)? {
            let Some(base) = self.base(task, lineage)? else {
                continue;
            };
            if base.head.next > offset && self.descends(task, lineage, owner, offset)? {
                return Ok(Some((lineage, base.head.next)));
            }
        }
        Ok(None)
    }

    /// Returns `true` if a lineage inherited an event, even if it was trimmed since.
    fn descends(
        &self,
        task: TaskNo,
        lineage: LineageId,
        owner: LineageId,
        offset: Offset,
    ) -> Result<bool> {
        let (mut at, mut to) = (lineage, Offset::MAX);
        loop {
            let entry = self.lineage_ever(task, at)?;
            let from = entry.parent.map_or(0, |parent| parent.offset);
            if at == owner {
                return Ok((from..to).contains(&offset));
            }
            match entry.parent {
                Some(parent) if parent.lineage < at => (at, to) = (parent.lineage, parent.offset),
                _ => return Ok(false),
            }
        }
    }
}
