//! Data attached to checkpoints by the caller's ids of them.

use std::collections::HashSet;

use milepost_codec::{
    Body, Data, DataAttached, ErrorKind, LineageId, Offset, Result, Seq, TaskNo, check_alias,
};
use milepost_replay::Event;
use milepost_store::index::MarkEntry;
use milepost_store::index::keys::{self, KeyKind};

use crate::commit::append::Append;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::history::catalog::Catalog;

/// The actor of events with data that a cleanup appended again.
const CARRIED: &str = "retention";

impl Task {
    /// Attaches data to the checkpoint that has an alias, whether it is marked already or later, in
    /// one commit. Returns the number of new attachments.
    ///
    /// An attachment has a key of writer and index. Of several with the same key and an index from
    /// 0 on, the first counts: an attachment whose key exists already is left out, so that a
    /// repeated call does nothing. Of those with a negative index, the last counts.
    ///
    /// The events are on the lineage of the checkpoint, or on the lineage of this handle as long as
    /// none has the alias. A restore does not change attached data. Removal of the last checkpoint
    /// with an alias removes the data that was attached by it; a cleanup that removes events first
    /// appends again the data of remaining and of future checkpoints.
    ///
    /// ```
    /// use milepost::events::{Attachment, Data, Message};
    /// use milepost::{Append, Engine, Mark, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("thread", "ana")?;
    /// let write = Attachment::new("node-a", 0, Data::Bytes(b"draft".to_vec())).name("messages");
    /// assert_eq!(task.attach("step-1", [write.clone()])?, 1);
    /// // The checkpoint may be marked later.
    /// let step = Append::from(Message::text("assistant", "hi"));
    /// task.append(step.mark(Mark::new().alias("step-1")))?;
    /// assert_eq!(task.attach("step-1", [write.clone()])?, 0);
    /// assert_eq!(task.attached("step-1")?, [write]);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - `Invalid`: the alias is empty, over 1024 bytes, or has a control character.
    /// - `NotFound`: the task was deleted.
    /// - As [`Lineage::append`].
    pub fn attach(
        &self,
        alias: &str,
        attachments: impl IntoIterator<Item = Attachment>,
    ) -> Result<u64> {
        check_alias(alias)?;
        let catalog = &self.lineage().inner().catalog;
        let attachments: Vec<Attachment> = attachments.into_iter().collect();
        let known = match attachments.iter().any(|one| one.index >= 0) {
            true => self.attached(alias)?,
            false => Vec::new(),
        };
        let mut taken: HashSet<_> = known.iter().map(Attachment::key).collect();
        let mut new: Vec<Body> = Vec::new();
        for one in &attachments {
            if one.index < 0 || taken.insert(one.key()) {
                new.push(one.body());
            }
        }
        let count = new.len() as u64;
        if count > 0 {
            let append = Append::batch(new).correlation(alias);
            // The data is of the alias, whichever lineage is active by now.
            let lineage = catalog.lineage_of_alias(self.no(), alias)?;
            let lineage = lineage.unwrap_or_else(|| self.lineage().id());
            self.lineage_named(lineage)?.append(append)?;
        }
        Ok(count)
    }

    /// Returns the data that is attached by an alias, on all lineages, in the order in which their
    /// keys were first used. Erased data is left out.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task was deleted. `Corrupt`: an event is damaged.
    pub fn attached(&self, alias: &str) -> Result<Vec<Attachment>> {
        check_alias(alias)?;
        let catalog = &self.lineage().inner().catalog;
        catalog.task(self.no())?;
        let counting = self.lineage().counting(alias)?.into_iter();
        Ok(counting.map(|counts| counts.event.attachment).collect())
    }
}

/// Data that is attached to a checkpoint. See [`Task::attach`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attachment {
    /// The writer.
    pub writer: String,
    /// The writer's number of the data.
    pub index: i64,
    /// The name of the data. Default: none, an empty string.
    pub name: String,
    /// The data.
    pub data: Data,
}

impl Attachment {
    /// Creates an attachment without a name.
    pub fn new(writer: impl Into<String>, index: i64, data: Data) -> Self {
        Self { writer: writer.into(), index, name: String::new(), data }
    }

    /// Sets the name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Returns the key: writer and index.
    fn key(&self) -> (&str, i64) {
        (&self.writer, self.index)
    }

    pub(crate) fn body(&self) -> Body {
        let Self { writer, index, name, data } = self.clone();
        DataAttached { writer, index, name, data }.into()
    }
}

impl From<DataAttached> for Attachment {
    fn from(body: DataAttached) -> Self {
        let DataAttached { writer, index, name, data } = body;
        Self { writer, index, name, data }
    }
}

/// The event of attached data that counts for its key.
#[derive(Debug)]
pub(crate) struct Counting {
    pub(crate) event: AttachedEvent,
    /// The events that it replaced, which have a negative index.
    pub(crate) replaced: Vec<AttachedEvent>,
}

/// Attached data with the place of its event.
#[derive(Debug)]
pub(crate) struct AttachedEvent {
    pub(crate) attachment: Attachment,
    pub(crate) lineage: LineageId,
    pub(crate) offset: Offset,
    /// `true` if a cleanup appended it again.
    pub(crate) is_carried: bool,
}

impl Lineage {
    /// Returns the data that is attached by an alias on all lineages of the task and counts, in
    /// the order in which their keys were first used. Erased data is left out.
    pub(crate) fn counting(&self, alias: &str) -> Result<Vec<Counting>> {
        let mut found: Vec<AttachedEvent> = Vec::new();
        for (_, lineage, offset) in self.inner().catalog.attached_by(self.task(), alias)? {
            found.extend(self.attached_at(lineage, offset)?);
        }
        // Carried events were first committed before all other data of their key.
        found.sort_by_key(|event| !event.is_carried);
        let mut counting: Vec<Counting> = Vec::new();
        for event in found {
            let is_same =
                |known: &&mut Counting| known.event.attachment.key() == event.attachment.key();
            match counting.iter_mut().find(is_same) {
                None => counting.push(Counting { event, replaced: Vec::new() }),
                Some(known) if event.attachment.index < 0 => {
                    known.replaced.push(std::mem::replace(&mut known.event, event));
                }
                Some(_) => {}
            }
        }
        Ok(counting)
    }

    /// Reads attached data. `None`: it was erased, or removed since the index was read.
    fn attached_at(&self, lineage: LineageId, offset: Offset) -> Result<Option<AttachedEvent>> {
        let event = || -> Result<Option<Event>> {
            let mut events = self.sibling(lineage)?.read(offset..offset + 1)?;
            events.next().transpose()
        };
        let event = match event() {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            event => event?,
        };
        let Some(Event { header, body: Some(Body::DataAttached(body)), .. }) = event else {
            return Ok(None);
        };
        let is_carried = header.actor.as_deref() == Some(CARRIED);
        Ok(Some(AttachedEvent { attachment: body.into(), lineage, offset, is_carried }))
    }

    /// Appends attached data again.
    pub(crate) fn attach_again(&self, alias: &str, bodies: Vec<Body>) -> Result<()> {
        let append = Append::batch(bodies).correlation(alias).actor(CARRIED);
        // The limit of events may have been another one when the data was attached.
        self.append_unlimited(&append)
    }
}

impl Catalog {
    /// Returns the places of data that is attached by an alias, in the order of their commits.
    pub(crate) fn attached_by(
        &self,
        task: TaskNo,
        alias: &str,
    ) -> Result<Vec<(Seq, LineageId, Offset)>> {
        let mut found = Vec::new();
        self.log().walk(&keys::named(KeyKind::AttachedBy, task, alias), &mut |key, seq| {
            let (lineage, offset) = keys::mark_place(key);
            found.push((keys::tail_u64(seq), lineage, offset));
            Ok(())
        })?;
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the lineage of the newest checkpoint with an alias.
    pub(crate) fn lineage_of_alias(&self, task: TaskNo, alias: &str) -> Result<Option<LineageId>> {
        let mut newest: Option<(Seq, LineageId)> = None;
        self.log().walk(&keys::named(KeyKind::MarkAlias, task, alias), &mut |key, _| {
            let (lineage, offset) = keys::mark_place(key);
            if let Some(entry) = self.log().get(&keys::mark(task, lineage, offset))? {
                let seq = MarkEntry::decode(&entry)?.seq;
                newest = newest.max(Some((seq, lineage)));
            }
            Ok(())
        })?;
        Ok(newest.map(|(_, lineage)| lineage))
    }
}
