//! The lineages of a session. A line that follows the last of one goes on with it; a line that follows an earlier one
//! parts from there.
//!
//! Each line is an append of its own under its id as idempotency key, and many of them are on their way at once: a session
//! that is recorded again, or was cut short, leaves each of them once.

use std::collections::{HashMap, VecDeque};

use milepost::{
    Append, Body, Engine, ErrorKind, Json, Lineage, LineageId, Mark, MarkCause, Offset,
    StepFinished, StepStarted, Task, Ticket,
};

use super::line::{Context, SessionLine, Uuid};
use crate::error::{Failure, Result};
use crate::record::object::as_text;

/// So many appends are on their way at most,
const UNDER_WAY: usize = 512;
/// with so many bytes of lines.
const UNDER_WAY_BYTES: usize = 16 << 20;

/// How much of a prompt a checkpoint tells, in characters.
const TOLD: usize = 80;

/// The lineages of a session.
pub struct Lanes {
    engine: Engine,
    task: Task,
    lanes: Vec<Lane>,
    /// The lane of each lane's last line.
    tips: HashMap<Uuid, usize>,
    /// Where lines stand; nothing of those that are on their way, or were refused.
    places: HashMap<Uuid, Option<Place>>,
    under_way: VecDeque<UnderWay>,
    under_way_bytes: usize,
    /// The lane of the conversation, not of what is beside it.
    main: usize,
    refused: Vec<(u64, String)>,
    pub orphans: u64,
    pub events: u64,
    pub checkpoints: u64,
}

/// A lineage, and how far it is.
struct Lane {
    lineage: Lineage,
    tip: Option<Uuid>,
    standing: Standing,
    context: Context,
}

/// How a lane stands behind a line.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// The step that was begun last; 0 where none was.
    step: u32,
    open: bool,
}

/// Where a line ends.
#[derive(Clone, Copy)]
struct Place {
    lineage: LineageId,
    end: Offset,
    standing: Standing,
}

/// An append that is on its way to the disk.
struct UnderWay {
    line: u64,
    bytes: usize,
    uuid: Option<Uuid>,
    lineage: LineageId,
    standing: Standing,
    ticket: Ticket,
}

impl Lanes {
    /// Those of a task, which is started where it is not there.
    pub fn of(engine: &Engine, id: &str, user: &str) -> Result<Self> {
        let task = match engine.task(id) {
            Err(error) if error.kind() == ErrorKind::NotFound => engine.start_task(id, user)?,
            task => task?,
        };
        let mut lanes = Self {
            engine: engine.clone(),
            task,
            lanes: Vec::new(),
            tips: HashMap::new(),
            places: HashMap::new(),
            under_way: VecDeque::new(),
            under_way_bytes: 0,
            main: 0,
            refused: Vec::new(),
            orphans: 0,
            events: 0,
            checkpoints: 0,
        };
        let root = lanes.task.lineage_named(LineageId(0))?;
        lanes.open(root, Standing::default(), Context::default());
        Ok(lanes)
    }

    /// Takes the next line. `number` names it if it is refused; `bytes` is its length.
    pub fn take(&mut self, line: SessionLine, number: u64, bytes: usize) -> Result<()> {
        // A session that is gone on with repeats lines.
        if line
            .uuid
            .is_some_and(|uuid| self.places.contains_key(&uuid))
        {
            return Ok(());
        }
        let at = self.lane_of(&line)?;
        if line.uuid.is_some() && !line.side {
            self.main = at;
        }
        let Some(lane) = self.lanes.get_mut(at) else {
            return Err(Failure::bug("a lane that is not there".to_owned()));
        };
        let key = match &line.uuid {
            Some(uuid) => named(uuid),
            None => format!("line {number}"),
        };
        let mut events = line.events;
        if let Some(changed) = lane.context.change(line.context) {
            events.insert(0, changed);
        }
        let mut appends = Vec::new();
        if line.asks {
            let ended = lane.standing;
            lane.standing = Standing {
                step: ended.step + 1,
                open: true,
            };
            if ended.open {
                let end = StepFinished {
                    step: u64::from(ended.step),
                    ..StepFinished::default()
                };
                let mark = before(&events, &line.uuid, line.time_us);
                let append = Append::batch([Body::from(end)]).mark(mark);
                appends.push((append.key(format!("{key} before")), None));
            }
            let begin = StepStarted {
                step: u64::from(lane.standing.step),
                ..StepStarted::default()
            };
            events.insert(0, begin.into());
        }
        if !events.is_empty() {
            appends.push((Append::batch(events).key(key), line.uuid));
        }
        if let Some(uuid) = line.uuid {
            lane.tip
                .replace(uuid)
                .map(|before| self.tips.remove(&before));
            self.tips.insert(uuid, at);
            self.places.insert(uuid, None);
        }
        for (append, uuid) in appends {
            let append = match line.time_us {
                Some(time_us) => append.time_us(time_us),
                None => append,
            };
            self.submit(at, append, uuid, (number, bytes))?;
        }
        Ok(())
    }

    /// The lane that a line goes on with, or begins.
    fn lane_of(&mut self, line: &SessionLine) -> Result<usize> {
        let Some(parent) = line.parent else {
            return match (line.uuid, line.side) {
                // Beside the conversation, or its first line.
                (None, _) => Ok(self.main),
                (Some(uuid), true) => self.begin_beside(&uuid),
                (Some(uuid), false) => self.begin_again(&uuid),
            };
        };
        if let Some(lane) = self.tips.get(&parent) {
            return Ok(*lane);
        }
        match (self.place(&parent)?, line.uuid) {
            (Some(place), Some(uuid)) => self.part(place, &uuid, line.side),
            _ => {
                self.orphans += 1;
                Ok(self.main)
            }
        }
    }

    /// A lane for an agent that works beside the conversation: it parts from where that is.
    fn begin_beside(&mut self, uuid: &Uuid) -> Result<usize> {
        self.settle(0)?;
        let Some(main) = self.lanes.get(self.main) else {
            return Ok(0);
        };
        let (lineage, standing) = (main.lineage.id(), main.standing);
        let end = match main.tip.and_then(|tip| self.places.get(&tip)?.as_ref()) {
            Some(place) => place.end,
            None => 1,
        };
        let place = Place {
            lineage,
            end,
            standing,
        };
        self.part(place, uuid, true)
    }

    /// The lane of a line that follows none: the root for the first, and another beginning for others.
    fn begin_again(&mut self, uuid: &Uuid) -> Result<usize> {
        let is_begun = self.lanes.first().is_some_and(|root| root.tip.is_some());
        if !is_begun {
            return Ok(0);
        }
        let place = Place {
            lineage: LineageId(0),
            end: 1,
            standing: Standing::default(),
        };
        self.part(place, uuid, false)
    }

    /// A lane that parts from a place; the one that an earlier recording made, where there is one.
    fn part(&mut self, place: Place, uuid: &Uuid, side: bool) -> Result<usize> {
        self.settle(0)?;
        let what = if side { "sidechain" } else { "branch" };
        let description = format!("{what} at {}", named(uuid));
        let known = self.task.lineages()?.into_iter().find(|lineage| {
            let from = lineage.parent.map(|parent| (parent.lineage, parent.offset));
            from == Some((place.lineage, place.end))
                && lineage.description.as_ref() == Some(&description)
        });
        let lineage = match known {
            Some(known) => self.task.lineage_named(known.id)?,
            None => {
                let from = self.task.lineage_named(place.lineage)?;
                let point = from.point(place.end)?;
                match side {
                    true => self.engine.branch(&point, Some(&description))?,
                    // Whoever went back went on from there.
                    false => {
                        let task = self.engine.restore(&point, Some(&description))?;
                        // Its own handle would end with the next restore.
                        self.task.lineage_named(task.lineage().id())?
                    }
                }
            }
        };
        let context = self.lanes.get(self.main).map(|main| main.context.clone());
        Ok(self.open(lineage, place.standing, context.unwrap_or_default()))
    }

    fn open(&mut self, lineage: Lineage, standing: Standing, context: Context) -> usize {
        self.lanes.push(Lane {
            lineage,
            tip: None,
            standing,
            context,
        });
        self.lanes.len() - 1
    }

    /// Where a line stands that was taken before.
    fn place(&mut self, uuid: &Uuid) -> Result<Option<Place>> {
        if let Some(None) = self.places.get(uuid) {
            self.settle(0)?;
        }
        Ok(self.places.get(uuid).copied().flatten())
    }

    fn submit(
        &mut self,
        at: usize,
        append: Append,
        uuid: Option<Uuid>,
        (line, bytes): (u64, usize),
    ) -> Result<()> {
        let Some(lane) = self.lanes.get(at) else {
            return Ok(());
        };
        match lane.lineage.submit(append) {
            Ok(ticket) => {
                self.under_way_bytes += bytes;
                self.under_way.push_back(UnderWay {
                    line,
                    bytes,
                    uuid,
                    lineage: lane.lineage.id(),
                    standing: lane.standing,
                    ticket,
                });
            }
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.refused.push((line, error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
        self.settle(UNDER_WAY)
    }

    /// Waits until no more than so many appends are on their way.
    fn settle(&mut self, most: usize) -> Result<()> {
        while self.under_way.len() > most || self.under_way_bytes > UNDER_WAY_BYTES {
            let Some(way) = self.under_way.pop_front() else {
                break;
            };
            self.under_way_bytes -= way.bytes;
            let appended = match way.ticket.wait() {
                Ok(appended) => appended,
                Err(error) if error.kind() == ErrorKind::Invalid => {
                    self.refused.push((way.line, error.to_string()));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if !appended.repeated {
                self.events += u64::from(appended.count);
                self.checkpoints += u64::from(appended.checkpoint.is_some());
            }
            if let Some(uuid) = way.uuid {
                let place = Place {
                    lineage: way.lineage,
                    end: appended.first + u64::from(appended.count),
                    standing: way.standing,
                };
                self.places.insert(uuid, Some(place));
            }
        }
        Ok(())
    }

    /// Everything taken is durable, or was refused, when this returns. What is new ends with a checkpoint.
    pub fn finish(&mut self) -> Result<()> {
        self.settle(0)?;
        if let Some(main) = self.lanes.get(self.main).filter(|_| self.events > 0) {
            let mark = Mark::new().cause(MarkCause::Imported);
            main.lineage.with_hooks()?.checkpoint(mark)?;
            self.checkpoints += 1;
        }
        Ok(())
    }

    /// Lines that were refused since this was asked last.
    pub fn take_refused(&mut self) -> Vec<(u64, String)> {
        std::mem::take(&mut self.refused)
    }

    pub fn lineages(&self) -> u64 {
        self.lanes.len() as u64
    }

    /// Where the task ends.
    pub fn head(&self) -> Result<Offset> {
        Ok(self.engine.task(self.task.id())?.head()?.next)
    }
}

/// The checkpoint before a prompt: it tells how that begins, and is known by its id, too.
fn before(events: &[Body], uuid: &Option<Uuid>, time_us: Option<u64>) -> Mark {
    let mut mark = Mark::new().cause(MarkCause::Step);
    if let Some(time_us) = time_us {
        mark = mark.time_us(time_us);
    }
    if let Some(uuid) = uuid {
        mark = mark.alias(named(uuid));
    }
    let prompt = events.iter().find_map(|event| match event {
        Body::Message(message) => as_text(message.content.as_ref()?),
        _ => None,
    });
    let told: String = prompt.unwrap_or_default().chars().take(TOLD).collect();
    match Json::from_value(&serde_json::json!({"before": told})) {
        Ok(metadata) if !told.is_empty() => mark.metadata(metadata),
        _ => mark,
    }
}

/// An id as it is written: with its dashes, since all digits would be an offset.
fn named(uuid: &Uuid) -> String {
    let mut text = data_encoding::HEXLOWER.encode(uuid);
    for at in [20, 16, 12, 8] {
        text.insert(at, '-');
    }
    text
}
