//! States that are looked at: each is folded once, however many look at it, and all of them are
//! bounded in bytes.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use milepost::{Engine, LineageId, Offset, Point, RunState, TaskNo};
use parking_lot::Mutex;

use crate::auth::Caller;
use crate::budget::{Shares, TokenShare};
use crate::error::ApiError;
use crate::server::App;
use crate::view::View;

/// Bytes of memory for each byte of a state that is answered, and of one that is compared.
const COPIED: u64 = 3;
const COMPARED: u64 = 12;

/// The same of the values that a comparison shows, and how many they are at most.
const SHOWN: u64 = 64;
const SHOWN_MAX: u64 = 64 << 20;

const COMPARED_MAX: &str =
    "the states are too large to be compared: read them, `?pointer=` by `?pointer=`";

/// What takes no more is not counted.
const SMALL: usize = 256 << 10;

/// A point, and how many events of its task were erased: they change its state.
type Key = (TaskNo, LineageId, Offset, u64);

/// Where a state is found while somebody looks at it. Locked while it is folded.
type Place = Arc<tokio::sync::Mutex<Weak<Folded>>>;

/// Tasks of which it is known what their large states weigh. With more all are forgotten.
const WEIGHED: usize = 4096;

/// The states that somebody looks at.
#[derive(Debug, Default)]
pub(crate) struct Folds {
    places: Mutex<HashMap<Key, Place>>,
    /// The weight of each task's state that was folded last, where it is large.
    weights: Mutex<HashMap<TaskNo, u64>>,
}

impl Folds {
    /// About what a state of a task weighs: as much as the one that was folded last.
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
        // Those that nobody looks at, and nobody is about to.
        all.retain(|_, place| {
            let gone = |place: &Place| place.try_lock().is_ok_and(|it| it.strong_count() == 0);
            Arc::strong_count(place) > 1 || !gone(place)
        });
        Arc::clone(all.entry(key).or_default())
    }
}

/// A state, for as long as somebody looks at it.
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
    /// The state at a point, for somebody who may see it.
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

    /// The states at two points, for somebody who may see them, and what they take when they are
    /// compared.
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
        // Alone they may be larger than what all may hold: two of them may not.
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
            // The second is not folded where the first is too large.
            let states = [one(before)?, one(after)?];
            let bytes = needs(states.iter().map(RunState::weight).sum());
            Ok((states, bytes))
        };
        let (states, share) = self.bounded(caller, expected, fold).await?;
        share.into_iter().for_each(|share| shares.hold(share));
        Ok(states)
    }

    /// Folds something within the bytes that states may hold. As many as are expected are taken
    /// before. What it takes is known once it is there: where more are not free then it is dropped,
    /// and folded again when they are.
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
