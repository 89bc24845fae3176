//! Results of appends.

use milepost_codec::{CheckpointId, Error, Head, Offset, Result, Seq};

use crate::commit::committer::{CommitResult, Marked};

/// Result of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// The offset of the first new event, or of the first given one if none is new.
    pub first: Offset,
    /// The number of new events, without the checkpoint.
    pub count: u32,
    /// The head after the last event, and after the checkpoint if there is one. The hash is zero if
    /// the append was a repetition of one that has since been trimmed.
    pub head: Head,
    /// The checkpoint after the events.
    pub checkpoint: Option<CheckpointId>,
    /// The commit that made the events durable.
    pub seq: Seq,
    /// Set if an earlier append with the same key appended the events, or each event has its own
    /// key and none is new. The head is then that after the last of the given events.
    pub repeated: bool,
    /// The place of each given event, in their order, if [each has its own
    /// key](crate::Append::each_keyed); otherwise empty.
    pub events: Vec<KeyedEvent>,
}

/// A committed append and the mark that it made.
#[derive(Debug, Clone)]
pub(crate) struct Committed {
    pub(crate) appended: Appended,
    /// The mark; `None` if none was made, or if the append was a repetition.
    pub(crate) marked: Option<Box<Marked>>,
}

impl Appended {
    pub(crate) fn of(done: &CommitResult) -> Result<Self> {
        let Some((first, head)) = done.appended.first().copied() else {
            return Err(Error::invalid("an append without events"));
        };
        Ok(Self::at(done, first, head))
    }

    /// Returns the result of events after the event that opens their lineage.
    pub(crate) fn behind_opening(done: &CommitResult) -> Result<Self> {
        match done.appended.last().copied() {
            Some((opened, head)) => Ok(Self::at(done, opened + 1, head)),
            None => Err(Error::invalid("an append without events")),
        }
    }

    fn at(done: &CommitResult, first: Offset, head: Head) -> Self {
        let marks = u64::from(done.checkpoint.is_some());
        let count = done.repeated.unwrap_or((head.next - first - marks) as u32);
        let repeated = done.repeated.is_some();
        let (seq, checkpoint, events) = (done.seq, done.checkpoint, Vec::new());
        Self { first, count, head, checkpoint, seq, repeated, events }
    }
}

/// The place of an event that has its own key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyedEvent {
    /// The offset.
    pub offset: Offset,
    /// Set if the event existed already, under the same key.
    pub repeated: bool,
}

impl KeyedEvent {
    pub(crate) fn at(offset: Offset, repeated: bool) -> Self {
        Self { offset, repeated }
    }
}
