//! After which event something is so: halving a history.
//!
//! A state is *good* where it is not so yet, *bad* where it is. It is taken for granted that what
//! turned bad stays bad. Of n events between a good and a bad state, at most log2(n) states between
//! them are looked at, rounded up, and the two ends.

use std::collections::BTreeSet;

use milepost_codec::{Error, Offset, Result};
use milepost_replay::RunState;

use crate::handles::engine::Engine;
use crate::history::events::Ancestry;
use crate::history::point::Point;

/// How many states may be passed over in one search.
const SKIPS_MAX: usize = 64;

/// What is said of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is not so yet.
    Good,
    /// It is so.
    Bad,
    /// That cannot be said: a neighbour is looked at.
    Skip,
}

/// A search for the first event after which something is so.
///
/// Whoever wants to go on later keeps the offsets of [`Bisect::good`], [`Bisect::bad`] and
/// [`Bisect::skipped`], asks for a search between them, and gives it what was skipped.
///
/// # Example
///
/// ```
/// use milepost::{Engine, Options, StepStarted, Verdict};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path().join(".milepost");
/// let engine = Engine::open(dir, Options::default())?;
/// let run = engine.start_task("tuning", "ana")?;
/// for step in 1..=20 {
///     run.append(StepStarted { step, ..Default::default() })?;
/// }
/// let mut bisect = engine.bisect(None, &engine.point("tuning")?)?;
/// bisect.run(&engine, |_, state| {
///     let late = state.step.as_ref().is_some_and(|step| step.number > 12);
///     Ok::<_, milepost::Error>(if late { Verdict::Bad } else { Verdict::Good })
/// })?;
/// assert_eq!(bisect.found().map(|event| event.offset), Some(13));
/// # engine.close()?;
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bisect {
    /// The bad end.
    end: Point,
    good: Offset,
    skipped: BTreeSet<Offset>,
    looked: u64,
}

impl Engine {
    /// A search from a good point, or from the beginning of the history, to a bad one. What the
    /// lineage of the bad one inherits counts. Nothing is looked at yet.
    ///
    /// # Errors
    ///
    /// `Invalid` where the good point is not before the bad one in its history. `NotFound` where
    /// retention trimmed it.
    pub fn bisect(&self, good: Option<&Point>, bad: &Point) -> Result<Bisect> {
        let catalog = &self.inner.catalog;
        catalog.readable((bad.no, bad.lineage, bad.offset))?;
        let ancestry = Ancestry::of(catalog, bad.no, bad.lineage)?;
        let from = match good {
            None => ancestry.begin(),
            Some(good) => {
                let theirs = match good.no == bad.no {
                    true => Some(Ancestry::of(catalog, good.no, good.lineage)?),
                    false => None,
                };
                let shared = theirs.and_then(|theirs| ancestry.common(&theirs));
                if shared.is_none_or(|shared| good.offset > shared) {
                    return Err(Error::invalid(format!(
                        "{good} is not in the history of {bad}: the good point is one that the bad one comes from"
                    )));
                }
                ancestry.check(good.offset)?;
                good.offset
            }
        };
        if from >= bad.offset {
            return Err(Error::invalid(format!(
                "there is no event between offset {from}, which is good, and {bad}, which is bad: \
                 the good point comes first"
            )));
        }
        Ok(Bisect { end: bad.clone(), good: from, skipped: BTreeSet::new(), looked: 0 })
    }
}

impl Bisect {
    /// The last point that is known to be good.
    pub fn good(&self) -> Point {
        self.at(self.good)
    }

    /// The first point that is known to be bad.
    pub fn bad(&self) -> Point {
        self.end.clone()
    }

    /// The offsets that were passed over.
    pub fn skipped(&self) -> impl Iterator<Item = Offset> + '_ {
        self.skipped.iter().copied()
    }

    /// How many states were looked at by [`Bisect::run`].
    pub fn looked(&self) -> u64 {
        self.looked
    }

    /// How many states are still to be looked at, at most, where none is passed over.
    pub fn left(&self) -> u32 {
        let events = self.end.offset.saturating_sub(self.good);
        // Rounded up: of one event no state is left.
        events.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1)
    }

    /// The point whose state is to be looked at; nothing where the event is found, or where all
    /// that are left were passed over.
    pub fn next_point(&self) -> Option<Point> {
        let (from, to) = (self.good.saturating_add(1), self.end.offset);
        let middle = self.good + to.saturating_sub(self.good) / 2;
        // No more of them are in a row than were passed over.
        let reach = 0..=self.skipped.len() as u64;
        let near = reach.flat_map(|by| [middle.checked_sub(by), middle.checked_add(by)]);
        let mut free =
            near.flatten().filter(|at| (from..to).contains(at) && !self.skipped.contains(at));
        free.next().map(|offset| self.at(offset))
    }

    /// Says of [`Bisect::next_point`] what it is.
    ///
    /// # Errors
    ///
    /// `Invalid` where there is none, or where too many were passed over.
    pub fn mark(&mut self, verdict: Verdict) -> Result<()> {
        let next = self.next_point();
        let next = next.ok_or_else(|| Error::invalid("there is no state left to look at"))?;
        match verdict {
            Verdict::Good => self.good = next.offset,
            Verdict::Bad => self.end = next,
            Verdict::Skip => self.skip(next.offset)?,
        }
        Ok(())
    }

    /// Passes over an offset.
    ///
    /// # Errors
    ///
    /// `Invalid` where that are too many.
    pub fn skip(&mut self, offset: Offset) -> Result<()> {
        if self.skipped.len() >= SKIPS_MAX {
            return Err(Error::invalid(format!(
                "{SKIPS_MAX} states were passed over: the event is between offsets {} and {}, and \
                 nothing more can be said",
                self.good, self.end.offset
            )));
        }
        self.skipped.insert(offset);
        Ok(())
    }

    /// The event after which it is so, once there is only one left.
    pub fn found(&self) -> Option<Point> {
        let only = self.end.offset.saturating_sub(self.good) == 1;
        only.then(|| self.at(self.good))
    }

    /// Looks at both ends, and then at what is between until the event is found or nothing more can
    /// be looked at. Of each state `ask` says what it is.
    ///
    /// # Errors
    ///
    /// `Invalid` where the good end is bad already, the bad one is not, or that cannot be said of
    /// one of them, and where too many were passed over. Those of `ask`, and of
    /// [`Engine::run_state`].
    pub fn run<E: From<Error>>(
        &mut self,
        engine: &Engine,
        mut ask: impl FnMut(&Point, &RunState) -> Result<Verdict, E>,
    ) -> Result<(), E> {
        let (good, bad) = (self.good(), self.bad());
        for (point, verdict) in [(good, Verdict::Good), (bad, Verdict::Bad)] {
            let said = self.look(engine, &point, &mut ask)?;
            if said != verdict {
                return Err(wrong_end(&point, verdict, said).into());
            }
        }
        while let Some(point) = self.next_point() {
            let verdict = self.look(engine, &point, &mut ask)?;
            self.mark(verdict)?;
        }
        Ok(())
    }

    fn look<E: From<Error>>(
        &mut self,
        engine: &Engine,
        point: &Point,
        ask: &mut impl FnMut(&Point, &RunState) -> Result<Verdict, E>,
    ) -> Result<Verdict, E> {
        self.looked += 1;
        ask(point, &engine.run_state(point)?)
    }

    /// Another point of the history. The end may be a checkpoint; what is between is none.
    fn at(&self, offset: Offset) -> Point {
        Point { offset, checkpoint: None, ..self.end.clone() }
    }
}

fn wrong_end(point: &Point, expected: Verdict, said: Verdict) -> Error {
    Error::invalid(match (expected, said) {
        (_, Verdict::Skip) => {
            format!("of the state at {point}, which is an end, it cannot be said")
        }
        (Verdict::Good, _) => {
            format!("it is so at {point} already: the good end has to be before that")
        }
        _ => format!("it is not so at {point}: there is no event after which it is"),
    })
}
