//! Subscriptions, followers and iterators: created at some moment, read later. They may return
//! everything that exists at the time of reading, and nothing that was erased or deleted since.

use milepost::subscribe::{Followed, Follower, SubscribeOptions};
use milepost::{Engine, ErrorKind, Event, Events, LineageId, Result, Subscription};

use super::check::check_event;
use super::model::Model;
use super::program::How;

/// Events that one look reads at most.
const EACH: usize = 6;

/// A reader that is kept.
#[derive(Debug)]
pub struct Watch {
    task: String,
    generation: u32,
    lineage: u32,
    reader: Reader,
}

#[derive(Debug)]
enum Reader {
    Subscription(Box<Subscription>),
    Follower(Box<Follower>),
    Iterator(Box<Events>),
}

impl Reader {
    fn next(&mut self, lineage: &mut u32) -> Result<Option<Event>> {
        match self {
            Self::Subscription(all) => all.try_next(),
            Self::Iterator(all) => all.next().transpose(),
            Self::Follower(all) => loop {
                match all.try_next()? {
                    Some(Followed::Event(event)) => return Ok(Some(event)),
                    Some(Followed::LineageChanged(moved)) => *lineage = moved.to.0,
                    None => return Ok(None),
                }
            },
        }
    }
}

impl Watch {
    /// Begins to read a lineage from an offset.
    pub fn begin(
        engine: &Engine,
        (task, generation): (&str, u32),
        lineage: u32,
        from: u64,
        how: How,
    ) -> Result<Self> {
        let handle = engine.task(task)?;
        let id = LineageId(lineage);
        let reader = match how {
            How::Subscription => {
                let lineage = handle.lineage_named(id)?;
                Reader::Subscription(Box::new(
                    lineage.subscribe(from, SubscribeOptions::default())?,
                ))
            }
            How::Follower => Reader::Follower(Box::new(handle.follow((id, from))?)),
            How::Iterator => Reader::Iterator(Box::new(handle.lineage_named(id)?.read(from..)?)),
        };
        Ok(Self { task: task.to_owned(), generation, lineage, reader })
    }

    /// Reads a few events, and compares them with the model of now.
    pub fn look(&mut self, model: &Model) -> std::result::Result<(), String> {
        let known = model.live_task(&self.task);
        let known = known.filter(|known| known.generation == self.generation);
        let calm = model.under_way.is_empty();
        for _ in 0..EACH {
            let place = format!("a reader of task {}, lineage {}", self.task, self.lineage);
            let read = self.reader.next(&mut self.lineage);
            // The results of calls under way are not known yet.
            let is_erased = |event: &Event| {
                let event = known.and_then(|known| known.event(event.lineage.0, event.offset));
                event.is_some_and(|event| event.erased)
            };
            match &read {
                _ if calm => {}
                Ok(Some(event)) if known.is_none() || is_erased(event) => {}
                Ok(Some(_)) => continue,
                _ => return Ok(()),
            }
            match (read, known) {
                (Err(error), None) if error.kind() == ErrorKind::NotFound => return Ok(()),
                (Ok(Some(event)), None) => {
                    let offset = event.offset;
                    return Err(format!("{place}: reads offset {offset}, which was deleted"));
                }
                (Ok(None), None) => {
                    return match self.reader {
                        Reader::Iterator(_) => Ok(()),
                        _ => Err(format!("{place}: waits for events of a deleted task")),
                    };
                }
                (Err(error), known) => {
                    let gone = known.is_some_and(|known| known.retained)
                        && error.kind() == ErrorKind::NotFound;
                    return match gone {
                        true => Ok(()),
                        false => Err(format!("{place}: {error}")),
                    };
                }
                (Ok(None), Some(_)) => return Ok(()),
                (Ok(Some(event)), Some(known)) => {
                    check_event(known, self.lineage, &event)
                        .map_err(|e| format!("{place}: offset {}: {e}", event.offset))?;
                }
            }
        }
        Ok(())
    }
}
