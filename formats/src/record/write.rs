//! Writes plans and lines to the store: in batches, or one by one if each is acknowledged.

use std::collections::VecDeque;

use milepost::events::{MarkCause, MarkStatus};
use milepost::{
    Append, Appended, Body, Engine, ErrorKind, Json, Lineage, Mark, Offset, Point, Ticket,
};

use super::plan::{Item, Plan, Run, common_prefix};
use crate::error::{Error, Remedy, Result};
use crate::progress::{Durable, Progress};

/// Maximum number of events in an append.
const BATCH_EVENTS: usize = 256;
/// Maximum size of an append, in bytes.
const BATCH_BYTES: usize = 1 << 20;
/// Maximum number of appends that are queued in the engine.
const QUEUE_APPENDS: usize = 4096;
/// Maximum size of the queued appends, in bytes.
const QUEUE_BYTES: usize = 8 << 20;
/// Maximum size of the names and metadata of a mark that is queued. The engine can refuse a larger
/// one after later appends are queued.
const QUEUED_MARK: usize = 1024;

/// An event that the engine refused, with the number given to it.
#[derive(Debug)]
pub struct Refused {
    pub number: u64,
    pub why: String,
}

/// A queued append.
struct Queued {
    ticket: Ticket,
    bytes: usize,
}

/// Writer of one lineage. Appends are queued, so that one commit takes many of them. A mark is part
/// of the append before it.
pub struct LineageWriter {
    lineage: Lineage,
    /// `true` if a checkpoint calls hooks or participants.
    observed: bool,
    /// The events of the next append, with their numbers.
    batch: Vec<(u64, Body)>,
    batch_bytes: usize,
    queue: VecDeque<Queued>,
    queue_bytes: usize,
    refused: Vec<Refused>,
    pub events: u64,
    pub checkpoints: u64,
    /// True if there are events after the last mark.
    pub unmarked: bool,
}

impl LineageWriter {
    pub fn new(lineage: Lineage) -> Result<Self> {
        Ok(Self {
            observed: lineage.calls_at_checkpoints(),
            lineage,
            batch: Vec::new(),
            batch_bytes: 0,
            queue: VecDeque::new(),
            queue_bytes: 0,
            refused: Vec::new(),
            events: 0,
            checkpoints: 0,
            unmarked: false,
        })
    }

    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Adds an event to the next append. `number` names it if it is refused; `bytes` is its
    /// approximate size.
    pub fn push(&mut self, number: u64, body: Body, bytes: usize) -> Result<()> {
        // A full batch waits for the next event: a mark may follow it.
        if self.batch.len() >= BATCH_EVENTS || self.batch_bytes >= BATCH_BYTES {
            self.submit(None)?;
        }
        self.batch.push((number, body));
        self.batch_bytes = self.batch_bytes.saturating_add(bytes);
        Ok(())
    }

    /// Marks a checkpoint after all events so far, in the same append as the last of them.
    pub fn mark(&mut self, mark: Mark) -> Result<()> {
        if self.batch.is_empty() {
            return self.mark_alone(mark).map(drop);
        }
        self.submit(Some(mark))
    }

    /// Queues the batch. The next one is filled while it is written to the disk.
    fn submit(&mut self, mark: Option<Mark>) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let bytes = std::mem::take(&mut self.batch_bytes);
        if batch.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u64> = batch.iter().map(|(number, _)| *number).collect();
        // `submit` does not accept changes of control.
        let waits = batch.iter().any(|(_, body)| matches!(body, Body::ControlChanged(_)))
            || mark.as_ref().is_some_and(|mark| self.observed || is_large(mark));
        let append = Append::batch(batch.into_iter().map(|(_, body)| body));
        let append = match &mark {
            Some(mark) => append.mark(mark.clone()),
            None => append,
        };
        if waits {
            self.settle(0, 0)?;
            let result = self.lineage.append(&append);
            let Some(appended) = self.refusal(result)? else {
                return self.one_by_one(&numbers, &append, mark);
            };
            self.count(&appended);
            return Ok(());
        }
        let ticket = self.lineage.submit(&append);
        match self.refusal(ticket)? {
            Some(ticket) => {
                self.queue.push_back(Queued { ticket, bytes });
                self.queue_bytes = self.queue_bytes.saturating_add(bytes);
                self.settle(QUEUE_APPENDS, QUEUE_BYTES)
            }
            None => {
                self.settle(0, 0)?;
                self.one_by_one(&numbers, &append, mark)
            }
        }
    }

    /// Waits until at most this many appends with this many bytes are queued.
    fn settle(&mut self, appends: usize, bytes: usize) -> Result<()> {
        while self.queue.len() > appends || self.queue_bytes > bytes {
            let Some(Queued { ticket, bytes }) = self.queue.pop_front() else { break };
            self.queue_bytes = self.queue_bytes.saturating_sub(bytes);
            // The engine refuses events when they are queued. Later appends may be written, so a
            // refusal here ends the recording.
            let appended = ticket.wait()?;
            self.count(&appended);
        }
        Ok(())
    }

    /// Returns `None` if an append was refused for its events or its mark. A refused append writes
    /// nothing.
    fn refusal<T>(&self, result: milepost::Result<T>) -> Result<Option<T>> {
        match result {
            Ok(done) => Ok(Some(done)),
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Appends the events and the mark of a refused append one by one, in order; only the parts
    /// that the engine refuses are lost.
    fn one_by_one(&mut self, numbers: &[u64], append: &Append, mark: Option<Mark>) -> Result<()> {
        let mut is_last_in = false;
        for (number, body) in numbers.iter().zip(append.bodies()) {
            is_last_in = self.append(*number, body.clone())?.is_some();
        }
        match mark {
            // The checkpoint is that of the last event.
            Some(mark) if is_last_in => self.mark_alone(mark).map(drop),
            _ => Ok(()),
        }
    }

    /// Waits until every event so far is durable or refused.
    pub fn flush(&mut self) -> Result<()> {
        self.submit(None)?;
        self.settle(0, 0)
    }

    /// Writes one event durably, with a mark after it in the same commit. Returns `None` if the
    /// event was refused.
    pub fn push_alone(
        &mut self,
        number: u64,
        body: Body,
        mark: Option<Mark>,
    ) -> Result<Option<Durable>> {
        self.flush()?;
        let Some(mark) = mark else {
            return self.append(number, body);
        };

        let marked = self.lineage.append_marked(body.clone(), mark.clone());
        match self.refusal(marked)? {
            Some(checkpoint) => {
                self.events += 1;
                self.checkpoints += 1;
                self.unmarked = false;
                let offset = checkpoint.at.saturating_sub(1);
                Ok(Some(Durable { offset, hash: checkpoint.hash }))
            }
            None => {
                let durable = self.append(number, body)?;
                if durable.is_some() {
                    self.mark_alone(mark)?;
                }
                Ok(durable)
            }
        }
    }

    fn append(&mut self, number: u64, body: Body) -> Result<Option<Durable>> {
        match self.lineage.append(body) {
            Ok(appended) => {
                self.count(&appended);
                Ok(Some(Durable { offset: appended.first, hash: appended.head.hash }))
            }
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.refused.push(Refused { number, why: error.to_string() });
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn count(&mut self, appended: &Appended) {
        self.events += u64::from(appended.count);
        self.checkpoints += u64::from(appended.checkpoint.is_some());
        self.unmarked = appended.checkpoint.is_none();
    }

    /// Returns the events that were refused since the last call.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Marks a checkpoint after all events so far, and makes it durable.
    pub fn mark_alone(&mut self, mark: Mark) -> Result<Durable> {
        self.flush()?;
        let checkpoint = self.lineage.checkpoint(mark)?;
        self.checkpoints += 1;
        self.unmarked = false;
        let head = self.lineage.head()?;
        Ok(Durable { offset: checkpoint.mark, hash: head.hash })
    }
}

/// Returns `true` if a mark is not queued.
fn is_large(mark: &Mark) -> bool {
    let body = mark.body();
    let names = body.label.iter().chain(&body.aliases).map(String::len);
    let metadata = body.metadata.as_ref().map_or(0, |json| json.text().len());
    names.sum::<usize>() + metadata > QUEUED_MARK
}

/// Returns the mark at the end of a step.
pub fn step_mark(step: u64, status: MarkStatus) -> Mark {
    let mark = Mark::new().cause(MarkCause::Step).status(status);
    match Json::new(format!("{{\"step\":{step}}}")) {
        Ok(metadata) => mark.metadata(metadata),
        Err(_) => mark,
    }
}

/// Returns the mark of an item that is one.
fn mark_of(item: &Item) -> Option<Mark> {
    match item {
        Item::Mark { status, step } => Some(step_mark(*step, *status)),
        Item::Event(_) => None,
    }
}

/// Passes a durable event on.
pub fn acknowledge(event: Durable, progress: &mut dyn Progress) -> Result<()> {
    let acknowledged = progress.acknowledge(event);
    acknowledged.map_err(|error| Error::from(error).remedied_by(Remedy::KeepRecorded))
}

/// Result of a plan.
#[derive(Debug, Default)]
pub struct WrittenPlan {
    pub lineages: u64,
    pub events: u64,
    pub checkpoints: u64,
    pub head: Offset,
}

/// A written run.
struct Laid<'a> {
    lineage: Lineage,
    items: &'a [Item],
    /// The offset before each item, and the one after the last.
    points: Vec<Offset>,
}

/// Writes a plan as a new task. Each run after the first becomes a lineage that branches from an
/// earlier run where the two differ. If `each` is true, each event is durable and acknowledged
/// before the next one.
pub fn write_plan(
    engine: &Engine,
    id: &str,
    user: &str,
    plan: &Plan,
    each: bool,
    progress: &mut dyn Progress,
) -> Result<WrittenPlan> {
    let task = engine.start_task(id, user)?;
    let mut written = WrittenPlan::default();
    let mut laid: Vec<Laid<'_>> = Vec::new();
    for run in &plan.runs {
        let next = match closest(&laid, run) {
            None => lay(task.lineage().clone(), run, Vec::new(), each, progress)?,
            Some((from, shared)) => {
                let shared_points = from.points.iter().take(shared).copied().collect();
                let at = from.points.get(shared).copied().unwrap_or_default();
                let point: Point = from.lineage.point(at)?;
                let lineage =
                    engine.branch(&point).description(run.description.as_deref()).run()?;
                lay(lineage, run, shared_points, each, progress)?
            }
        };
        written.lineages += 1;
        written.events += next.writer.events;
        written.checkpoints += next.writer.checkpoints;
        progress.advance(run.items.len() as u64);
        laid.push(next.laid);
    }
    written.head = task.head()?.next;
    Ok(written)
}

/// Returns the earliest of the runs that share the most items with this one, and their number.
fn closest<'a, 'b>(laid: &'b [Laid<'a>], run: &Run) -> Option<(&'b Laid<'a>, usize)> {
    let shared = laid.iter().map(|laid| (laid, common_prefix(laid.items, &run.items)));
    shared.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

struct Next<'a> {
    laid: Laid<'a>,
    writer: LineageWriter,
}

/// Writes the items of a run that it does not share, and notes the offset before each.
fn lay<'a>(
    lineage: Lineage,
    run: &'a Run,
    mut points: Vec<Offset>,
    each: bool,
    progress: &mut dyn Progress,
) -> Result<Next<'a>> {
    let shared = points.len();
    let mut offset = lineage.head()?.next;
    let mut writer = LineageWriter::new(lineage.clone())?;
    let mut items = run.items.iter().skip(shared).peekable();
    while let Some(item) = items.next() {
        lineage.cancel().check()?;
        points.push(offset);
        offset += 1;
        match item {
            Item::Event(body) if each => {
                let mark = items.peek().and_then(|next| mark_of(next));
                if mark.is_some() {
                    items.next();
                    points.push(offset);
                    offset += 1;
                }
                if let Some(durable) = writer.push_alone(0, body.clone(), mark)? {
                    acknowledge(durable, progress)?;
                }
            }
            Item::Event(body) => {
                writer.push(0, body.clone(), body.encode().1.len())?;
            }
            Item::Mark { status, step } => writer.mark(step_mark(*step, *status))?,
        }
        if let Some(refused) = writer.take_refused().into_iter().next() {
            return Err(Error::invalid(refused.why));
        }
    }
    writer.flush()?;
    points.push(offset);
    Ok(Next { laid: Laid { lineage, items: &run.items, points }, writer })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use milepost::events::{Message, StepFinished};
    use milepost::{Checkpoint, Hook, Options, Task};

    use super::*;

    /// A hook that refuses every third checkpoint, and counts the calls.
    #[derive(Default)]
    struct Refuses {
        asked: AtomicU64,
        told: AtomicU64,
    }

    impl Hook for Refuses {
        fn name(&self) -> &str {
            "refuses"
        }

        fn before_checkpoint(&self, task: &Task, _: &Mark) -> Result<(), String> {
            let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
            match asked % 3 {
                0 => Err(format!("not in {}", task.id())),
                _ => Ok(()),
            }
        }

        fn after_checkpoint(&self, _: &Task, _: &Checkpoint) {
            self.told.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn writer(options: Options) -> (Engine, LineageWriter) {
        let engine = Engine::in_memory(options).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let writer = LineageWriter::new(task.lineage().clone()).unwrap();
        (engine, writer)
    }

    fn finished(step: u64) -> Body {
        StepFinished { step, ..StepFinished::default() }.into()
    }

    #[test]
    fn each_step_is_one_commit_if_hooks_are_asked() {
        let hook = Arc::new(Refuses::default());
        let (engine, mut writer) = writer(Options::default().hook(hook.clone()));
        let before = engine.store().metrics().commits;
        for step in 1..=2 {
            writer.push(step, finished(step), 10).unwrap();
            writer.mark(step_mark(step, MarkStatus::Success)).unwrap();
        }
        assert_eq!(engine.store().metrics().commits - before, 2);
        // The events of a refused checkpoint stay.
        writer.push(3, finished(3), 10).unwrap();
        hook.asked.store(2, Ordering::SeqCst);
        writer.mark(step_mark(3, MarkStatus::Success)).unwrap();
        writer.flush().unwrap();
        assert_eq!((writer.events, writer.checkpoints), (3, 3));
        engine.close().unwrap();
        assert_eq!(hook.told.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn what_is_refused_is_lost_alone_and_the_order_stays() {
        let (engine, mut writer) = writer(Options::default().event_max(1000));
        let said = |text: &str| Body::from(Message::text("user", text));
        for number in 0..600 {
            let text = if number == 300 { "x".repeat(2000) } else { number.to_string() };
            writer.push(number, said(&text), 10).unwrap();
            if number % 50 == 49 {
                writer.mark(step_mark(number, MarkStatus::Success)).unwrap();
            }
        }
        writer.flush().unwrap();
        let refused = writer.take_refused();
        assert_eq!(refused.iter().map(|refused| refused.number).collect::<Vec<_>>(), [300]);
        assert_eq!((writer.events, writer.checkpoints), (599, 12));
        let messages = engine.task("t").unwrap().messages().unwrap();
        let texts: Vec<String> = messages
            .map(|message| message.unwrap().content.unwrap().text().trim_matches('"').to_owned())
            .collect();
        let expected = (0..600).filter(|number| *number != 300).map(|number| number.to_string());
        assert_eq!(texts, expected.collect::<Vec<_>>());
    }
}
