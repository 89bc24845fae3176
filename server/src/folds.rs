//! Folded states in use: each is folded once for all concurrent readers, within a byte limit.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use milepost::{Engine, LineageId, Offset, Point, RunState, TaskNo};
use parking_lot::Mutex;

use crate::app::App;
use crate::auth::Caller;
use crate::budget::{Shares, TokenShare};
use crate::error::ApiError;
use crate::view::View;

/// Memory per byte of a state, in an answer and in a comparison.
const COPIED: u64 = 3;
const COMPARED: u64 = 12;

/// Memory per byte of the values that a comparison shows, and its maximum.
const SHOWN: u64 = 64;
const SHOWN_MAX: u64 = 64 << 20;

const COMPARED_MAX: &str =
    "the states are too large to be compared: read them, `?pointer=` by `?pointer=`";

/// States up to this size are not counted.
const SMALL: usize = 256 << 10;

/// A point, and the number of erased events of its task, which changes the state.
type Key = (TaskNo, LineageId, Offset, u64);

/// The slot of a state in use. It is locked while the state is folded.
type Place = Arc<tokio::sync::Mutex<Weak<Folded>>>;

/// Maximum number of tasks with a known weight; beyond it all are forgotten.
const WEIGHED: usize = 4096;

/// The states in use.
#[derive(Debug, Default)]
pub(crate) struct Folds {
    places: Mutex<HashMap<Key, Place>>,
    /// The weight of each task's last folded state, if it is large.
    weights: Mutex<HashMap<TaskNo, u64>>,
}

impl Folds {
    /// Estimates the weight of a task's state by the last one folded.
    fn weight(&self, task: TaskNo) -> u64 {
        self.weights.lock().get(&task).copied().unwrap_or(0)
    }

    fn weighed(&self, task: TaskNo, state: &RunState) {
        let (weight, mut weights) = (state.weight(), self.weights.lock());
        if weight.saturating_mul(COPIED) <= SMALL as u64 {
            weights.remove(&task);
            return;
        }
        if weights.len() >= WEIGHED {
            weights.clear();
        }
        weights.insert(task, weight);
    }

    fn place(&self, key: Key) -> Place {
        let mut all = self.places.lock();
        if let Some(place) = all.get(&key) {
            return Arc::clone(place);
        }
        // Drops slots without a state that no request waits on.
        all.retain(|_, place| {
            let gone = |place: &Place| place.try_lock().is_ok_and(|it| it.strong_count() == 0);
            Arc::strong_count(place) > 1 || !gone(place)
        });
        Arc::clone(all.entry(key).or_default())
    }
}

/// A state, kept while a request uses it.
#[derive(Debug)]
pub(crate) struct Folded {
    state: RunState,
    _share: Option<TokenShare>,
}

impl Deref for Folded {
    type Target = RunState;

    fn deref(&self) -> &RunState {
        &self.state
    }
}

impl App {
    /// Returns the state at a point that the caller may see.
    pub(crate) async fn folded(
        &self,
        caller: &Caller,
        point: Point,
    ) -> Result<Arc<Folded>, ApiError> {
        let (asks, at) = (caller.clone(), point.clone());
        let erased = self.work(move |engine| Ok(View::of(engine, &asks).erased(&at)?));
        let key = (point.no, point.lineage, point.offset, erased.await?);
        let place = self.folds().place(key);
        let mut there = place.lock().await;
        if let Some(folded) = there.upgrade() {
            return Ok(folded);
        }
        let (asks, app) = (caller.clone(), self.clone());
        let needs = |weight: u64| weight.saturating_mul(COPIED);
        let expected = needs(self.folds().weight(point.no));
        let fold = move |engine: &Engine| {
            let state = View::of(engine, &asks).run_state(&point)?;
            app.folds().weighed(point.no, &state);
            let bytes = needs(state.weight());
            Ok((state, bytes))
        };
        let (state, share) = self.bounded(caller, expected, fold).await?;
        let folded = Arc::new(Folded { state, _share: share });
        *there = Arc::downgrade(&folded);
        Ok(folded)
    }

    /// Returns the states at two points that the caller may see. `shares` holds the memory of the
    /// comparison.
    pub(crate) async fn two(
        &self,
        shares: &Shares,
        caller: &Caller,
        points: [Point; 2],
    ) -> Result<[RunState; 2], ApiError> {
        let (asks, app) = (caller.clone(), self.clone());
        let needs = |weight: u64| {
            let shown = weight.saturating_mul(SHOWN).min(SHOWN_MAX);
            weight.saturating_mul(COMPARED).saturating_add(shown)
        };
        let weights = points.iter().map(|point| self.folds().weight(point.no));
        let expected = needs(weights.sum());
        // A single large state may exceed the budget, but two together may not.
        let most = self.budgets().states.bytes() as u64;
        let fold = move |engine: &Engine| {
            let view = View::of(engine, &asks);
            let [before, after] = &points;
            let mut left = most;
            let mut one = |point: &Point| -> Result<RunState, ApiError> {
                let state = view.run_state(point)?;
                app.folds().weighed(point.no, &state);
                let fits = left.checked_sub(state.weight());
                left = fits.ok_or(ApiError::TooMuch(COMPARED_MAX))?;
                Ok(state)
            };
            // The second state is not folded if the first is too large.
            let states = [one(before)?, one(after)?];
            let bytes = needs(states.iter().map(RunState::weight).sum());
            Ok((states, bytes))
        };
        let (states, share) = self.bounded(caller, expected, fold).await?;
        share.into_iter().for_each(|share| shares.hold(share));
        Ok(states)
    }

    /// Folds within the byte limit of states. Takes the expected bytes first. If the result needs
    /// more than is free, drops it and folds again once enough bytes are free.
    async fn bounded<T: Send + 'static>(
        &self,
        caller: &Caller,
        expected: u64,
        fold: impl Fn(&Engine) -> Result<(T, u64), ApiError> + Send + Sync + 'static,
    ) -> Result<(T, Option<TokenShare>), ApiError> {
        let fold = Arc::new(fold);
        let states = self.part(caller.of_token(), &self.budgets().states);
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        let mut had: Option<(TokenShare, usize)> = None;
        if expected > SMALL {
            had = Some((states.take(expected, self.patience()).await?, expected));
        }
        loop {
            let again = Arc::clone(&fold);
            let fold = self.long_work_held(caller.of_token(), move |engine| again(engine));
            let ((folded, bytes), one) = fold.await?;
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            if bytes <= SMALL {
                return Ok((folded, None));
            }
            let share = had.take().filter(|(_, of)| *of >= bytes);
            let share = share.map(|(share, _)| share);
            if let Some(share) = share.or_else(|| states.try_take(bytes)) {
                return Ok((folded, Some(share)));
            }
            drop((folded, one));
            had = Some((states.take(bytes, self.patience()).await?, bytes));
        }
    }
}
