//! Bisect: a binary search for the event after which a condition holds.
//!
//! A state is *good* while the condition does not hold, and *bad* once it does. The search assumes
//! that a bad state stays bad. For n events between a good and a bad state it examines both ends
//! and at most log2(n) states between them, rounded up. If the condition does not hold at the end,
//! it may have held before: then a scan examines every state, in one pass over the events.

use std::collections::BTreeSet;

use milepost_codec::{Error, Offset, Result};
use milepost_replay::{Condition, Reducer as _, RunReducer, RunState};

use super::Query;
use crate::handles::view::View;
use crate::history::events::Ancestry;
use crate::history::log_chunks::LogChunks;
use crate::history::point::Point;

/// Maximum number of states skipped in one search.
const SKIPS_MAX: usize = 64;

/// The verdict on a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The condition does not hold yet.
    Good,
    /// The condition holds.
    Bad,
    /// Unknown: a neighbour is examined.
    Skip,
}

/// A search for the first event after which a condition holds.
///
/// To resume a search later, store the offsets of [`Bisect::good`], [`Bisect::bad`] and
/// [`Bisect::skipped`], begin a search between them, and skip the skipped ones again.
///
/// # Example
///
/// ```
/// use milepost::events::StepStarted;
/// use milepost::query::Verdict;
/// use milepost::{Engine, Options};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path().join(".milepost");
/// let engine = Engine::open(dir, Options::default())?;
/// let run = engine.start_task("tuning", "ana")?;
/// for step in 1..=20 {
///     run.append(StepStarted { step, ..Default::default() })?;
/// }
/// let mut bisect = engine.query().bisect(None, &engine.point("tuning")?)?;
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
    /// The event after which the condition no longer holds, if a scan found it.
    until: Option<Offset>,
}

impl Query<'_> {
    /// Searches the history of a point for the first event after which a condition holds: see
    /// [`Bisect::run_or_scan`].
    ///
    /// # Errors
    ///
    /// `Invalid`: the condition holds nowhere before the point, or holds at the good one. Others as
    /// [`Query::bisect`].
    pub fn first_where(
        &self,
        good: Option<&Point>,
        bad: &Point,
        condition: &Condition,
    ) -> Result<Bisect> {
        let chunks = self.view.chunks();
        let mut search = self.bisect(good, bad)?;
        search.run_or_scan(self.view, |state| condition.holds(state, chunks.as_ref()))?;
        Ok(search)
    }

    /// Begins a search from a good point, or from the beginning of the history, to a bad one.
    /// Events that the bad point's lineage inherits count. Reads no state yet.
    ///
    /// # Errors
    ///
    /// - `Invalid`: the good point is not before the bad one in its history.
    /// - `NotFound`: retention trimmed it.
    pub fn bisect(&self, good: Option<&Point>, bad: &Point) -> Result<Bisect> {
        good.into_iter().chain([bad]).try_for_each(|point| self.view.shown(point))?;
        let catalog = &self.view.inner.catalog;
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
                        "{good} is not in the history of {bad}: the good point is one that the bad \
                         one comes from"
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
        Ok(Bisect {
            end: bad.clone(),
            good: from,
            skipped: BTreeSet::new(),
            looked: 0,
            until: None,
        })
    }
}

impl Bisect {
    /// Returns the last point known to be good.
    pub fn good(&self) -> Point {
        self.at(self.good)
    }

    /// Returns the first point known to be bad.
    pub fn bad(&self) -> Point {
        self.end.clone()
    }

    /// Returns the skipped offsets.
    pub fn skipped(&self) -> impl Iterator<Item = Offset> + '_ {
        self.skipped.iter().copied()
    }

    /// Returns the event after which the condition no longer holds. `None` if it was found by a
    /// binary search, which ends where the condition holds.
    pub fn until(&self) -> Option<Point> {
        self.until.map(|offset| self.at(offset))
    }

    /// Returns the number of states examined by [`Bisect::run`] and [`Bisect::run_or_scan`].
    pub fn looked(&self) -> u64 {
        self.looked
    }

    /// Returns the maximum number of states still to examine, if none is skipped.
    pub fn left(&self) -> u32 {
        let events = self.end.offset.saturating_sub(self.good);
        // Rounded up: with one event left, no state is left.
        events.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1)
    }

    /// Returns the next point to examine; `None` if the event is found or all remaining points were
    /// skipped.
    pub fn next_point(&self) -> Option<Point> {
        let (from, to) = (self.good.saturating_add(1), self.end.offset);
        let middle = self.good + to.saturating_sub(self.good) / 2;
        // At most as many skipped offsets as there are in all can be in a row.
        let reach = 0..=self.skipped.len() as u64;
        let near = reach.flat_map(|by| [middle.checked_sub(by), middle.checked_add(by)]);
        let mut free =
            near.flatten().filter(|at| (from..to).contains(at) && !self.skipped.contains(at));
        free.next().map(|offset| self.at(offset))
    }

    /// Sets the verdict on [`Bisect::next_point`].
    ///
    /// # Errors
    ///
    /// `Invalid`: there is no next point, or too many were skipped.
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

    /// Skips an offset.
    ///
    /// # Errors
    ///
    /// `Invalid`: too many were skipped.
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

    /// Returns the event after which the condition holds, once it is the only one left.
    pub fn found(&self) -> Option<Point> {
        let only = self.end.offset.saturating_sub(self.good) == 1;
        only.then(|| self.at(self.good))
    }

    /// Examines both ends, then the states between them until the event is found or no state is
    /// left. `ask` returns the verdict on each state.
    ///
    /// # Errors
    ///
    /// - `Invalid`: the good end is bad, the bad end is good, one of them is skipped, or too many
    ///   states were skipped.
    /// - Errors of `ask` and of [`View::run_state`].
    pub fn run<E: From<Error>>(
        &mut self,
        view: &View,
        mut ask: impl FnMut(&Point, &RunState) -> Result<Verdict, E>,
    ) -> Result<(), E> {
        let (good, bad) = (self.good(), self.bad());
        for (point, verdict) in [(good, Verdict::Good), (bad, Verdict::Bad)] {
            let said = self.look(view, &point, &mut ask)?;
            if said != verdict {
                return Err(wrong_end(&point, verdict, said).into());
            }
        }
        while let Some(point) = self.next_point() {
            let verdict = self.look(view, &point, &mut ask)?;
            self.mark(verdict)?;
        }
        Ok(())
    }

    /// Does as [`Bisect::run`]. If the condition does not hold at the end, it examines the state
    /// after every event instead, oldest first, and ends at the first event after which the
    /// condition no longer holds: see [`Bisect::until`].
    ///
    /// # Errors
    ///
    /// - `Invalid`: the condition holds at the good end, or after none of the events.
    /// - Errors of `holds` and of [`View::run_state`].
    pub fn run_or_scan(
        &mut self,
        view: &View,
        mut holds: impl FnMut(&RunState) -> Result<bool>,
    ) -> Result<()> {
        if holds(&view.run_state(&self.end)?)? {
            return self.run(view, |_, state| {
                Ok::<_, Error>(if holds(state)? { Verdict::Bad } else { Verdict::Good })
            });
        }
        let (begin, end) = (self.good(), self.end.clone());
        let mut state = view.run_state(&begin)?;
        if holds(&state)? {
            return Err(wrong_end(&begin, Verdict::Good, Verdict::Bad));
        }
        let catalog = &view.catalog();
        let chunks = LogChunks::folding(catalog, &RunReducer, (end.no, end.lineage))?;
        let lineage = view.task(&end.task)?.lineage_named(end.lineage)?;
        let mut found = None;
        self.looked = 1;
        for event in lineage.read(begin.offset..end.offset)? {
            view.cancel().check()?;
            let event = event?;
            RunReducer.apply(&mut state, &event, &chunks)?;
            self.looked += 1;
            match (found, holds(&state)?) {
                (None, true) => found = Some(event.offset),
                (Some(first), false) => {
                    self.good = first;
                    self.end = self.at(first.saturating_add(1));
                    self.until = Some(event.offset);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(Error::invalid(format!(
            "it is so nowhere from {begin} to {end}: the states after all {} events were looked at",
            self.looked - 1
        )))
    }

    fn look<E: From<Error>>(
        &mut self,
        view: &View,
        point: &Point,
        ask: &mut impl FnMut(&Point, &RunState) -> Result<Verdict, E>,
    ) -> Result<Verdict, E> {
        self.looked += 1;
        ask(point, &view.run_state(point)?)
    }

    /// Returns another point of the history. Only the end can be a checkpoint.
    fn at(&self, offset: Offset) -> Point {
        Point { offset, checkpoint: None, ..self.end.clone() }
    }
}

fn wrong_end(point: &Point, expected: Verdict, said: Verdict) -> Error {
    Error::invalid(match (expected, said) {
        (_, Verdict::Skip) => {
            format!("of the state at {point}, which is an end, it cannot be said")
        }
        (Verdict::Good, _) if point.offset == 0 => {
            format!("it is so at {point} already, before the first event: no event made it so")
        }
        (Verdict::Good, _) => {
            format!("it is so at {point} already: the good end has to be before that")
        }
        _ => format!(
            "it is not so at {point}: it may have been so before, and only the ends were looked at"
        ),
    })
}
