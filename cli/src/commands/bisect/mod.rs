//! `bisect`: search for the first event after which a condition holds.

mod by_hand;
mod command;
mod expression;
mod report;

use milepost::Engine;
use milepost::query::{Bisect, Verdict};
use milepost::state::MessageRange;

use crate::args;
use crate::backend::hints::point;
use crate::error::{Failure, Result};
use crate::output::Out;
use crate::store_locator::StoreArgs;

pub fn run(store: &StoreArgs, engine: &Engine, args: &args::Bisect, out: &mut Out) -> Result<()> {
    if let Some(step) = &args.by_hand {
        return by_hand::run(store, engine, step, out);
    }
    let address = args.address.as_deref().unwrap_or_default();
    let bad = point(engine, address)?;
    let good = args.good.as_ref().map(|good| point(engine, good));
    let mut bisect = begin(engine, good.transpose()?.as_ref(), &bad)?;
    match &args.when {
        Some(text) => search_when(engine, &mut bisect, text),
        None => search_run(engine, &mut bisect, args),
    }?;
    report::print(engine, &bisect, Some(bisect.looked()), out)
}

/// Begins a search between two points. A failure has a hint.
fn begin(engine: &Engine, good: Option<&milepost::Point>, bad: &milepost::Point) -> Result<Bisect> {
    engine.query().bisect(good, bad).map_err(|error| {
        Failure::from(error).hint(
            "the bad point is the one that the search begins at, --good ADDRESS one before it; \
             `milepost lineages TASK` shows which history has which",
        )
    })
}

fn search_when(engine: &Engine, bisect: &mut Bisect, text: &str) -> Result<()> {
    let expression = expression::parse(text)?;
    let chunks = engine.chunks();
    bisect.run(engine, |_, state| {
        Ok(match expression.holds(state, chunks.as_ref())? {
            true => Verdict::Bad,
            false => Verdict::Good,
        })
    })
}

fn search_run(engine: &Engine, bisect: &mut Bisect, args: &args::Bisect) -> Result<()> {
    let chunks = engine.chunks();
    bisect.run(engine, |point, state| {
        let state = state.to_json(chunks.as_ref(), MessageRange::All)?;
        command::ask(&args.command, point, &state)
    })
}
