//! States at points that the caller may see: each is folded once for all concurrent readers, within
//! the byte limit of states.

use std::sync::Arc;

use milepost::{Engine, Point, RunState};

use crate::app::App;
use crate::auth::Caller;
use crate::budget::{Shares, TokenShare};
use crate::error::ApiError;
use crate::folds::{COPIED, Folded, UNCOUNTED};

/// Memory per byte of a state in a comparison.
const COMPARED: u64 = 12;

/// Memory per byte of the values that a comparison shows, and its maximum.
const SHOWN: u64 = 64;
const SHOWN_MAX: u64 = 64 << 20;

const COMPARED_MAX: &str =
    "the states are too large to be compared: read them, `?pointer=` by `?pointer=`";

/// Returns the state at a point that the caller may see.
pub(crate) async fn at(app: &App, caller: &Caller, point: Point) -> Result<Arc<Folded>, ApiError> {
    let at = point.clone();
    let erased = app.view(caller, move |view| Ok(view.task(&at.task)?.erased()));
    let key = (point.no, point.lineage, point.offset, erased.await?);
    let place = app.folds.place(key);
    let mut there = place.lock().await;
    if let Some(folded) = there.upgrade() {
        return Ok(folded);
    }
    let (asks, folding) = (caller.clone(), app.clone());
    let needs = |weight: u64| weight.saturating_mul(COPIED);
    let expected = needs(app.folds.weight(point.no));
    let fold = move |engine: &Engine| {
        let state = asks.view(engine).run_state(&point)?;
        folding.folds.weighed(point.no, &state);
        let bytes = needs(state.weight());
        Ok((state, bytes))
    };
    let (state, share) = bounded(app, caller, expected, fold).await?;
    let folded = Arc::new(Folded::new(state, share));
    *there = Arc::downgrade(&folded);
    Ok(folded)
}

/// Returns the states at two points that the caller may see. `shares` holds the memory of the
/// comparison.
pub(crate) async fn two(
    app: &App,
    shares: &Shares,
    caller: &Caller,
    points: [Point; 2],
) -> Result<[RunState; 2], ApiError> {
    let (asks, folding) = (caller.clone(), app.clone());
    let needs = |weight: u64| {
        let shown = weight.saturating_mul(SHOWN).min(SHOWN_MAX);
        weight.saturating_mul(COMPARED).saturating_add(shown)
    };
    let weights = points.iter().map(|point| app.folds.weight(point.no));
    let expected = needs(weights.sum());
    // A single large state may exceed the budget, but two together may not.
    let most = app.budgets.states.bytes() as u64;
    let fold = move |engine: &Engine| {
        let view = asks.view(engine);
        let [before, after] = &points;
        let mut left = most;
        let mut one = |point: &Point| -> Result<RunState, ApiError> {
            let state = view.run_state(point)?;
            folding.folds.weighed(point.no, &state);
            let fits = left.checked_sub(state.weight());
            left = fits.ok_or(ApiError::TooMuch(COMPARED_MAX))?;
            Ok(state)
        };
        // The second state is not folded if the first is too large.
        let states = [one(before)?, one(after)?];
        let bytes = needs(states.iter().map(RunState::weight).sum());
        Ok((states, bytes))
    };
    let (states, share) = bounded(app, caller, expected, fold).await?;
    share.into_iter().for_each(|share| shares.hold(share));
    Ok(states)
}

/// Folds within the byte limit of states. Takes the expected bytes first. If the result needs more
/// than is free, drops it and folds again once enough bytes are free.
async fn bounded<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    expected: u64,
    fold: impl Fn(&Engine) -> Result<(T, u64), ApiError> + Send + Sync + 'static,
) -> Result<(T, Option<TokenShare>), ApiError> {
    let fold = Arc::new(fold);
    let states = app.part(caller.of_token(), &app.budgets.states);
    let expected = usize::try_from(expected).unwrap_or(usize::MAX);
    let mut had: Option<(TokenShare, usize)> = None;
    if expected > UNCOUNTED {
        had = Some((states.take(expected, app.patience()).await?, expected));
    }
    loop {
        let again = Arc::clone(&fold);
        let fold = app.long_work_held(caller.of_token(), move |engine| again(engine));
        let ((folded, bytes), one) = fold.await?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if bytes <= UNCOUNTED {
            return Ok((folded, None));
        }
        let share = had.take().filter(|(_, of)| *of >= bytes);
        let share = share.map(|(share, _)| share);
        if let Some(share) = share.or_else(|| states.try_take(bytes)) {
            return Ok((folded, Some(share)));
        }
        drop((folded, one));
        had = Some((states.take(bytes, app.patience()).await?, bytes));
    }
}
