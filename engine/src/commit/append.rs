//! Appends.

use std::cell::Cell;
use std::sync::Arc;

use milepost_codec::{
    Application, ArtifactsEdited, Body, BodyForm, CheckpointAttached, ChunkId, ContextChanged,
    ControlChanged, DataAttached, Error, GuidanceGiven, Header, Message, Offset, PhaseChanged,
    PromptChanged, Result, RulesChanged, StepFailed, StepFinished, StepStarted, TEXT_MAX,
    ToolCalled, ToolReturned, VariablesPatched, WorkspaceCaptured, check_alias,
};
use milepost_store::index::is_indexed;
use milepost_store::tree_walk;
use milepost_store::{Log, put_body, stored_apart};
use smallvec::{SmallVec, smallvec};

use crate::commit::committer::LogAppend;
use crate::commit::each_keyed::EventKeys;
use crate::conditions::Conditions;
use crate::context::Context;
use crate::history::checkpoint::Mark;

/// Maximum bytes reserved for the records of an append before their sizes are known.
const RESERVE_MAX: usize = 1 << 20;

/// Maximum capacity of a payload buffer that is kept for the next append.
const SCRATCH_MAX: usize = 64 << 10;

/// Buffers in which one thread encodes headers and payloads of its appends, one after another.
#[derive(Default)]
struct Scratch {
    header: Vec<u8>,
    payload: Vec<u8>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = const {
        Cell::new(Scratch {
            header: Vec::new(),
            payload: Vec::new(),
        })
    };
}

/// Events to append together: all of them or none.
///
/// ```
/// use milepost::events::{Message, StepStarted};
/// use milepost::{Append, Body};
///
/// let one = Append::from(Message::text("user", "hello")).key("request-17").actor("ui");
/// let two: [Body; 2] = [StepStarted { step: 1, ..Default::default() }.into(),
///                       Message::text("assistant", "hi").into()];
/// let batch = Append::batch(two).expect_head(5);
/// # let _ = (one, batch);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Append {
    bodies: SmallVec<[Body; 1]>,
    expect: Option<Offset>,
    key: Option<String>,
    event_keys: Option<EventKeys>,
    context: Context,
    mark: Option<Mark>,
    after_capture: bool,
}

impl Append {
    /// Creates an append of several events.
    pub fn batch<B: Into<Body>>(bodies: impl IntoIterator<Item = B>) -> Self {
        Self { bodies: bodies.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Requires the lineage's head to be at `head`; otherwise the append fails with `Conflict` and
    /// the actual head.
    #[must_use]
    pub fn expect_head(mut self, head: Offset) -> Self {
        self.expect = Some(head);
        self
    }

    /// Sets an idempotency key. If the lineage or its ancestors already have an append with this
    /// key, its offsets are returned, or `Conflict` if its bodies differ.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the person or program that acts.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.context.actor = Some(actor.into());
        self
    }

    /// Sets the user on whose behalf the events are appended, if not the task's owner.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.context.user = Some(user.into());
        self
    }

    /// Sets an id that ties the events to work elsewhere.
    #[must_use]
    pub fn correlation(mut self, correlation: impl Into<String>) -> Self {
        self.context.correlation = Some(correlation.into());
        self
    }

    /// Sets the time of the events, in microseconds since the Unix epoch. Default: the engine's
    /// clock.
    #[must_use]
    pub fn time_us(mut self, time_us: u64) -> Self {
        self.context.time_us = Some(time_us);
        self
    }

    /// Adds a checkpoint right after the events, atomically and with the same sync. Actor,
    /// correlation id and time of the events apply where the mark has none.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::{Append, Engine, Mark, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("essay", "ana")?;
    /// let draft = Append::from(Message::text("assistant", "a draft"));
    /// let appended = task.append(draft.mark(Mark::new().label("draft")))?;
    /// assert_eq!(task.last_successful()?.map(|mark| mark.id), appended.checkpoint);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Returns the checkpoint after the events, with their actor, correlation id and time where it
    /// has none.
    pub(crate) fn marked(&self) -> Option<Mark> {
        let mark = self.mark.clone()?;
        // The user of a mark is that of the caller, as for a mark of its own.
        Some(mark.or_context(&Context { user: None, ..self.context.clone() }))
    }

    /// Sets actor, user, correlation id and time where the append has none.
    #[must_use]
    pub fn or_context(mut self, context: &Context) -> Self {
        self.context = self.context.or(context);
        self
    }

    /// Sets the key and the expected head that the conditions have, in place of its own.
    #[must_use]
    pub fn conditions(mut self, conditions: &Conditions) -> Self {
        self.key = conditions.key_given().map(str::to_owned).or(self.key);
        self.expect = conditions.expected().or(self.expect);
        self
    }

    /// Adds a capture by each participant of the task before the events, in the same commit. For an
    /// operation that may change what participants capture, such as a tool call. Such an append has
    /// neither a mark, which has captures of its own, nor a key: a repetition would have other
    /// captures.
    #[must_use]
    pub fn after_capture(mut self) -> Self {
        self.after_capture = true;
        self
    }

    /// Returns `true` if captures precede the events.
    pub fn is_after_capture(&self) -> bool {
        self.after_capture
    }

    /// Refuses keys of single events that are not looked up.
    pub(crate) fn check_looked_up(&self) -> Result<()> {
        if self.event_keys.as_ref().is_some_and(|keys| keys.new_up_to.is_none()) {
            let why = "keys of single events are looked up first: use append";
            return Err(Error::invalid(why));
        }
        Ok(())
    }

    /// Refuses captures before an append that has a key or a mark.
    fn check_capture(&self) -> Result<()> {
        if self.after_capture && (self.has_key() || self.mark.is_some()) {
            let why = "captures precede an append without a mark and without an idempotency key";
            return Err(Error::invalid(why));
        }
        Ok(())
    }

    pub(crate) fn mark_given(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// Adds events before its own.
    pub(crate) fn after(mut self, bodies: Vec<Body>) -> Self {
        self.bodies.insert_many(0, bodies);
        self
    }

    /// Adds events after its own.
    pub(crate) fn and(mut self, bodies: Vec<Body>) -> Self {
        self.bodies.extend(bodies);
        self
    }

    /// Moves the expected head by events that were appended after the caller read it.
    pub(crate) fn behind(mut self, events: u64) -> Self {
        self.expect = self.expect.map(|head| head + events);
        self
    }

    /// Returns `true` if a repetition of the append has to be equal to it.
    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some() || self.event_keys.is_some()
    }

    pub(crate) fn event_keys(&self) -> Option<&EventKeys> {
        self.event_keys.as_ref()
    }

    pub(crate) fn with_keys(mut self, keys: EventKeys) -> Self {
        self.event_keys = Some(keys);
        self
    }

    /// Returns the append with the events at these positions only, without their keys.
    pub(crate) fn with_only(&self, events: &[usize]) -> Self {
        let bodies = events.iter().filter_map(|n| self.bodies.get(*n).cloned()).collect();
        Self {
            bodies,
            expect: self.expect,
            key: None,
            event_keys: None,
            context: self.context.clone(),
            mark: self.mark.clone(),
            after_capture: self.after_capture,
        }
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the last change of phase among the events.
    pub(crate) fn phase_entered(&self) -> Option<&PhaseChanged> {
        self.bodies.iter().rev().find_map(|body| match body {
            Body::PhaseChanged(changed) => Some(changed),
            _ => None,
        })
    }

    /// Returns `true` if the append only writes: it marks no checkpoint, so no hook is asked and no
    /// folder is captured, it has no keys of single events, which are looked up first, and it
    /// changes neither run control nor phase, which the engine also keeps in memory.
    /// [`Lineage::try_submit`](crate::Lineage::try_submit) takes such appends.
    pub fn is_plain(&self) -> bool {
        let changes = self.control_changes().next().is_some() || self.phase_entered().is_some();
        let is_observed = self.mark.is_some() || self.after_capture;
        !is_observed && self.event_keys.is_none() && !changes
    }

    /// Returns the events.
    pub fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// Returns `true` if a checkpoint follows the events.
    pub fn has_mark(&self) -> bool {
        self.mark.is_some()
    }

    /// Returns the idempotency key.
    pub fn key_given(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns the changes of run control among the events.
    pub(crate) fn control_changes(&self) -> impl Iterator<Item = &ControlChanged> {
        self.bodies.iter().filter_map(|body| match body {
            Body::ControlChanged(change) => Some(change),
            _ => None,
        })
    }

    /// Estimates the size in bytes: the payloads, and 64 bytes for each event.
    pub fn bytes(&self) -> usize {
        let mut scratch = Vec::new();
        let sizes = self.bodies.iter().map(|body| {
            scratch.clear();
            body.encode_into(&mut scratch);
            scratch.len() + 64
        });
        sizes.sum()
    }

    /// Returns the head that the append requires.
    pub fn expected(&self) -> Option<Offset> {
        self.expect
    }

    /// Encodes the events for a log. Large bodies go into chunks, which are durable before the
    /// commit.
    pub(crate) fn encode(
        &self,
        to: &mut LogAppend,
        log: &Arc<dyn Log>,
        now_us: u64,
        event_max: usize,
    ) -> Result<()> {
        self.check()?;
        self.check_looked_up()?;
        let mut header = self.context.header(to.caller(), 0, now_us);
        // Events of one append differ only in kind: the header is encoded again when the kind
        // changes.
        let Scratch { header: mut encoded, mut payload } = SCRATCH.take();
        encoded.clear();
        let mut chunked = false;
        for (index, body) in self.bodies.iter().enumerate() {
            if let Body::WorkspaceCaptured(captured) = body {
                tree_walk::check_root(ChunkId(captured.root.0), &|id| log.get_chunk(id))?;
            }
            payload.clear();
            let kind = body.encode_into(&mut payload);
            if payload.len() > event_max {
                return Err(Error::invalid(format!(
                    "an event of {} bytes is over the limit of {event_max}",
                    payload.len()
                )));
            }
            if index == 0 {
                to.reserve(
                    self.bodies.len(),
                    (self.bodies.len() * (payload.len() + 48)).min(RESERVE_MAX),
                );
            }
            let mut form = BodyForm::Inline;
            if let Some(middle) = stored_apart(log, kind, &payload) {
                form = BodyForm::Chunked;
                if !chunked {
                    to.storing(log.storing());
                }
                chunked = true;
                payload = put_body(log, &payload, &middle)?.encode();
            }
            if let Some((key, batch)) = self.key_at(index) {
                let keyed = Header { kind, key: Some(key), batch, ..header.clone() };
                to.push(keyed, form, &payload)?;
                continue;
            }
            if header.kind != kind || encoded.is_empty() {
                header.kind = kind;
                encoded.clear();
                header.encode_into(&mut encoded);
            }
            match is_indexed(kind) {
                true => to.push(header.clone(), form, &payload)?,
                false => to.push_encoded(&encoded, form, &payload)?,
            }
        }
        if let Some(keys) = &self.event_keys {
            (to.key, to.event_keys) = (None, Some(keys.clone()));
        }
        if payload.capacity() <= SCRATCH_MAX {
            SCRATCH.set(Scratch { header: encoded, payload });
        }
        Ok(())
    }

    /// Returns the key in the header of an event, and the number of events under it.
    fn key_at(&self, index: usize) -> Option<(String, u32)> {
        match (&self.event_keys, &self.key, index) {
            (Some(keys), _, _) => keys.keys.get(index).map(|key| (key.clone(), 1)),
            (None, Some(key), 0) => Some((key.clone(), self.bodies.len() as u32)),
            _ => None,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.check_event_keys()?;
        self.check_capture()?;
        if self.bodies.is_empty() {
            return Err(Error::invalid("an append without events"));
        }
        if u32::try_from(self.bodies.len()).is_err() {
            return Err(Error::invalid("more than 2^32 events in one append"));
        }
        let keys = self.event_keys.iter().flat_map(|keys| &keys.keys);
        let texts = self.context.texts().into_iter().chain([&self.key]).flatten();
        for text in texts.chain(keys) {
            if text.is_empty() || text.len() > TEXT_MAX {
                return Err(Error::invalid(format!(
                    "a key, actor, user or correlation id has 1 to {TEXT_MAX} bytes, not {}",
                    text.len()
                )));
            }
        }
        for body in &self.bodies {
            if let Body::Unknown { kind, .. } = body
                && Body::is_known(*kind)
            {
                return Err(Error::invalid(format!(
                    "kind {kind} is `{}`: append its structure, bytes of it are not checked",
                    body.kind_name()
                )));
            }
            if let Body::DataAttached(_) = body {
                let alias = self.context.correlation.as_deref();
                check_alias(alias.ok_or_else(|| {
                    Error::invalid(
                        "data is attached by an alias of a checkpoint, which is the correlation \
                         id of its event, and there is none",
                    )
                })?)?;
            }
            if let Body::CheckpointMarked(_) | Body::LineageOpened(_) | Body::Restored(_) = body {
                return Err(Error::invalid(format!(
                    "{} is made by the engine: use checkpoint, branch or restore",
                    body.kind_name()
                )));
            }
        }
        Ok(())
    }
}

impl From<Body> for Append {
    fn from(body: Body) -> Self {
        Self { bodies: smallvec![body], ..Self::default() }
    }
}

impl From<Vec<Body>> for Append {
    fn from(bodies: Vec<Body>) -> Self {
        Self { bodies: bodies.into(), ..Self::default() }
    }
}

macro_rules! from_bodies {
    ($($body:ident)*) => {
        $(impl From<$body> for Append {
            fn from(body: $body) -> Self {
                Body::from(body).into()
            }
        })*
    };
}

from_bodies! {
    Application ArtifactsEdited CheckpointAttached ContextChanged ControlChanged DataAttached
    GuidanceGiven Message PhaseChanged PromptChanged RulesChanged StepFailed StepFinished
    StepStarted ToolCalled ToolReturned VariablesPatched WorkspaceCaptured
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use milepost_codec::{LogId, Origin, TaskNo};

    use super::*;
    use crate::{Engine, Options};

    #[test]
    fn a_compaction_waits_for_the_commit_of_a_body_that_is_stored_in_chunks() {
        let dir = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let engine = Engine::open(dir.path().join("store"), Options::default());
        let engine = engine.unwrap_or_else(|e| panic!("{e}"));
        let log = engine.inner.catalog.log();
        for (size, is_held) in [(1000, false), (300_000, true)] {
            let said = Message::text("user", &"x".repeat(size));
            let id = LogId::lineage(TaskNo(1), milepost_codec::LineageId(0));
            let mut append = engine.log_append(id, Origin([0; 16]));
            let encoded = Append::from(said).encode(&mut append, log, 0, usize::MAX);
            assert!(encoded.is_ok());
            assert_eq!(append.storing.is_some(), is_held, "{size} bytes");
        }
    }
}
