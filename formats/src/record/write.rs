//! Writes plans and lines to the store: in batches, or one by one if each is acknowledged.

use milepost::events::{MarkCause, MarkStatus};
use milepost::{
    Append, Appended, Body, Engine, ErrorKind, Json, Lineage, Mark, Offset, Point, Ticket,
};

use super::plan::{Item, Plan, Run, common_prefix};
use crate::error::{Error, Remedy, Result};
use crate::progress::{Durable, Progress};

/// Maximum number of events in a batch.
const BATCH_EVENTS: usize = 256;
/// Maximum size of a batch, in bytes.
const BATCH_BYTES: usize = 1 << 20;

/// An event that the engine refused, with the number given to it.
#[derive(Debug)]
pub struct Refused {
    pub number: u64,
    pub why: String,
}

/// Events with their numbers.
type Batch = Vec<(u64, Body)>;

/// Writes to one lineage.
pub struct LineageWriter {
    lineage: Lineage,
    batch: Batch,
    batch_bytes: usize,
    /// The previous batch, and the result of its submission.
    in_flight: Option<(Batch, milepost::Result<Ticket>)>,
    refused: Vec<Refused>,
    pub events: u64,
    pub checkpoints: u64,
    /// True if there are events after the last mark.
    pub unmarked: bool,
}

impl LineageWriter {
    pub fn new(lineage: Lineage) -> Self {
        Self {
            lineage,
            batch: Vec::new(),
            batch_bytes: 0,
            in_flight: None,
            refused: Vec::new(),
            events: 0,
            checkpoints: 0,
            unmarked: false,
        }
    }

    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Adds an event to the batch. `number` names it if it is refused; `bytes` is its approximate
    /// size.
    pub fn push(&mut self, number: u64, body: Body, bytes: usize) -> Result<()> {
        self.batch.push((number, body));
        self.batch_bytes = self.batch_bytes.saturating_add(bytes);
        if self.batch.len() >= BATCH_EVENTS || self.batch_bytes >= BATCH_BYTES {
            self.submit()?;
        }
        Ok(())
    }

    /// Submits the batch. The next one is filled while it is written to the disk.
    fn submit(&mut self) -> Result<()> {
        self.settle()?;
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let append = Append::batch(batch.iter().map(|(_, body)| body.clone()));
        // `submit` does not accept changes of control.
        let control = |(_, body): &(u64, Body)| matches!(body, Body::ControlChanged(_));
        if batch.iter().any(control) {
            let result = self.lineage.append(append);
            return self.settled(batch, result);
        }
        let ticket = self.lineage.submit(append);
        self.in_flight = Some((batch, ticket));
        Ok(())
    }

    /// Waits for the submitted batch.
    fn settle(&mut self) -> Result<()> {
        match self.in_flight.take() {
            Some((batch, ticket)) => self.settled(batch, ticket.and_then(Ticket::wait)),
            None => Ok(()),
        }
    }

    /// Handles the result of a batch. A refused batch writes nothing, so its events are then
    /// appended one by one, in order; only those that the engine refuses are lost.
    fn settled(
        &mut self,
        batch: Vec<(u64, Body)>,
        result: milepost::Result<Appended>,
    ) -> Result<()> {
        match result {
            Ok(appended) => {
                self.count(&appended);
                return Ok(());
            }
            Err(error) if error.kind() != ErrorKind::Invalid => return Err(error.into()),
            Err(_) => {}
        }
        for (number, body) in batch {
            self.append(number, body)?;
        }
        Ok(())
    }

    /// Waits until every event so far is durable or refused.
    pub fn flush(&mut self) -> Result<()> {
        self.submit()?;
        self.settle()
    }

    /// Writes one event durably. Returns `None` if it was refused.
    pub fn push_alone(&mut self, number: u64, body: Body) -> Result<Option<Durable>> {
        self.flush()?;
        self.append(number, body)
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
        self.unmarked = true;
    }

    /// Returns the events that were refused since the last call.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Marks a checkpoint after all events so far.
    pub fn mark(&mut self, mark: Mark) -> Result<Durable> {
        self.flush()?;
        let checkpoint = self.lineage.with_hooks()?.checkpoint(mark)?;
        self.checkpoints += 1;
        self.unmarked = false;
        let head = self.lineage.head()?;
        Ok(Durable { offset: checkpoint.mark, hash: head.hash })
    }
}

/// Returns the mark at the end of a step.
pub fn step_mark(step: u64, status: MarkStatus) -> Mark {
    let mark = Mark::new().cause(MarkCause::Step).status(status);
    match Json::new(format!("{{\"step\":{step}}}")) {
        Ok(metadata) => mark.metadata(metadata),
        Err(_) => mark,
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
                let lineage = engine.branch(&point, run.description.as_deref())?;
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
    let mut writer = LineageWriter::new(lineage.clone());
    for item in run.items.iter().skip(shared) {
        points.push(offset);
        offset += 1;
        match item {
            Item::Event(body) if each => {
                if let Some(durable) = writer.push_alone(0, body.clone())? {
                    acknowledge(durable, progress)?;
                }
            }
            Item::Event(body) => {
                // Event sizes were checked before; this value only bounds the batch.
                let bytes = BATCH_BYTES / BATCH_EVENTS;
                writer.push(0, body.clone(), bytes)?;
            }
            Item::Mark { status, step } => {
                writer.mark(step_mark(*step, *status))?;
            }
        }
        if let Some(refused) = writer.take_refused().into_iter().next() {
            return Err(Error::invalid(refused.why));
        }
    }
    writer.flush()?;
    points.push(offset);
    Ok(Next { laid: Laid { lineage, items: &run.items, points }, writer })
}
