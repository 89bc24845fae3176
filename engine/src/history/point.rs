//! Points: resolved addresses.

use std::fmt;

use milepost_codec::{CheckpointId, Error, ErrorKind, LineageId, LogId, Offset, Result, TaskNo};
use milepost_store::index::keys::{self, KeyKind};

use super::events::{Ancestry, Inherited};
use crate::history::address::{Address, AddressTarget, LAST_SUCCESSFUL};
use crate::history::catalog::{Catalog, Viewer};
use crate::history::checkpoint::Checkpoint;

/// A point of a lineage: before the event at an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Point {
    /// The task's id.
    pub task: String,
    /// The task's number.
    pub no: TaskNo,
    /// The lineage.
    pub lineage: LineageId,
    /// The offset.
    pub offset: Offset,
    /// The checkpoint, if the address named one.
    pub checkpoint: Option<CheckpointId>,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = AddressTarget::Offset(self.offset);
        Address::Task { task: self.task.clone(), lineage: Some(self.lineage), place }.fmt(f)
    }
}

impl Catalog {
    /// Returns the point that an address names, if the viewer may see it.
    pub(crate) fn point(&self, address: &str, viewer: Viewer<'_>) -> Result<Point> {
        let parsed: Address = address.parse()?;
        let name = match &parsed {
            Address::Task { task, lineage: None, place: AddressTarget::Head } => task,
            _ => return self.resolve(&parsed, viewer),
        };
        // A text without `@` is a task, or a checkpoint by its id or an alias.
        match self.resolve(&parsed, viewer) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                match self.checkpoint_named(name, viewer) {
                    Err(missing) if missing.kind() == ErrorKind::NotFound => Err(error),
                    found => self.point_of(found?, viewer),
                }
            }
            found => found,
        }
    }

    /// Checks that the viewer may see the task of a point, by name and number. The point may come
    /// from elsewhere.
    pub(crate) fn owned(&self, point: &Point, viewer: Viewer<'_>) -> Result<()> {
        if viewer.sees_all() || self.find_for(&point.task, viewer)? == point.no {
            return Ok(());
        }
        Err(Error::not_found(format!("there is no task `{}`", point.task)))
    }

    pub(crate) fn resolve(&self, address: &Address, viewer: Viewer<'_>) -> Result<Point> {
        match address {
            Address::Checkpoint(name) => {
                self.point_of(self.checkpoint_named(name, viewer)?, viewer)
            }
            Address::Task { task, lineage, place } => {
                let no = self.find_for(task, viewer)?;
                let lineage = match lineage {
                    Some(lineage) => {
                        self.lineage(no, *lineage).map_err(|e| e.at(format!("task `{task}`")))?;
                        *lineage
                    }
                    None => self.active(no)?.1.lineage,
                };
                let (offset, checkpoint) = self.place(task, no, lineage, place)?;
                Ok(Point { task: task.clone(), no, lineage, offset, checkpoint })
            }
        }
    }

    fn point_of(&self, found: Checkpoint, viewer: Viewer<'_>) -> Result<Point> {
        let no = self.find_for(&found.task, viewer)?;
        let Checkpoint { task, lineage, at: offset, id, .. } = found;
        Ok(Point { no, task, lineage, offset, checkpoint: Some(id) })
    }

    fn place(
        &self,
        task: &str,
        no: TaskNo,
        lineage: LineageId,
        place: &AddressTarget,
    ) -> Result<(Offset, Option<CheckpointId>)> {
        let head = self.head(LogId::lineage(no, lineage))?;
        let mark = match place {
            AddressTarget::Head => return Ok((head.next, None)),
            AddressTarget::Offset(offset) if *offset > head.next => {
                return Err(Error::invalid(format!(
                    "offset {offset} is past the head of task `{task}` lineage {lineage}, which \
                     is {}",
                    head.next
                )));
            }
            AddressTarget::Offset(offset) => return Ok((*offset, None)),
            AddressTarget::Label(label) => match self.labelled(no, lineage, label)? {
                Some(found) => found,
                None => {
                    let found = match label == LAST_SUCCESSFUL {
                        true => self.last_successful(no, lineage)?,
                        false => None,
                    };
                    let found = found.map(|(lineage, offset, _)| (lineage, offset));
                    found.ok_or_else(|| self.no_label(task, no, lineage, label))?
                }
            },
            AddressTarget::Back(0) => return Ok((head.next, None)),
            AddressTarget::Back(back) => {
                let mut left = *back;
                let found = self.newest_mark(no, lineage, Offset::MAX, &mut |_, _, _| {
                    left -= 1;
                    Ok(left == 0)
                })?;
                let found = found.map(|(lineage, offset, _)| (lineage, offset));
                found.ok_or_else(|| {
                    Error::not_found(format!(
                        "task `{task}` has fewer than {back} checkpoints on lineage {lineage}"
                    ))
                })?
            }
        };
        let checkpoint = self.checkpoint_at(no, mark.0, mark.1)?;
        Ok((checkpoint.at, Some(checkpoint.id)))
    }

    /// Returns the error for a lineage without a checkpoint of this name. It names another lineage
    /// that has one, for example after a restore to an earlier point.
    fn no_label(&self, task: &str, no: TaskNo, lineage: LineageId, name: &str) -> Error {
        let mut why = format!("task `{task}` has no checkpoint `{name}` on lineage {lineage}");
        let elsewhere = [KeyKind::MarkLabel, KeyKind::MarkAlias].map(|kind| {
            let prefix = keys::named(kind, no, name);
            let end = keys::after_prefix(&prefix);
            let found = self.log().scan(&prefix, &end, true, 1).ok()?.pop()?;
            Some(keys::mark_place(&found.0).0)
        });
        if let Some(other) = elsewhere.into_iter().flatten().max() {
            let address = Address::Task {
                task: task.to_owned(),
                lineage: Some(other),
                place: AddressTarget::Label(name.to_owned()),
            };
            why.push_str(&format!("; lineage {other} has one: `{address}`"));
        }
        Error::not_found(why)
    }

    /// Returns the newest mark with a label or an alias, on a lineage or its ancestors.
    fn labelled(
        &self,
        no: TaskNo,
        lineage: LineageId,
        name: &str,
    ) -> Result<Option<(LineageId, Offset)>> {
        let ancestry = Ancestry::of(self, no, lineage)?;
        let mut newest = None;
        for kind in [KeyKind::MarkLabel, KeyKind::MarkAlias] {
            let marks = Inherited {
                ancestry: &ancestry,
                prefix: &keys::named(kind, no, name),
                middle: &[],
                before: Offset::MAX,
                inclusive: false,
            };
            let mut first = |owner, offset, _: &[u8], _: &[u8]| Ok(Some((owner, offset)));
            newest = newest.max(marks.newest(self.log().as_ref(), &mut first)?);
        }
        Ok(newest)
    }
}
