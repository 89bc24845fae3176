//! `bisect`: search for the first event after which a condition holds.

mod by_hand;
mod command;
mod report;

use milepost::query::{Bisect, Condition};
use milepost::state::{Chunks, MessageRange};
use milepost::{Engine, ErrorKind, Point, RunState};

use super::pointers;
use crate::args;
use crate::backend::hints::point;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, excerpt};
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
        Some(text) => search_when(engine, &mut bisect, &bad, text),
        None => search_run(engine, &mut bisect, args),
    }?;
    report::print(engine, &bisect, Some(bisect.looked()), out)
}

/// Begins a search between two points. A failure has a hint.
fn begin(engine: &Engine, good: Option<&Point>, bad: &Point) -> Result<Bisect> {
    engine.query().bisect(good, bad).map_err(|error| {
        Failure::from(error).hint(
            "the bad point is the one that the search begins at, --good ADDRESS one before it; \
             `milepost lineages TASK` shows which history has which",
        )
    })
}

fn search_when(engine: &Engine, bisect: &mut Bisect, bad: &Point, text: &str) -> Result<()> {
    let condition = text.parse::<Condition>().map_err(|error| {
        Failure::new(format!("--when, {}", error))
            .code_of(USAGE)
            .hint("as in --when '/variables/score < 0.5 and not exists /last_error/message'")
    })?;
    let chunks = engine.chunks();
    let state = engine.run_state(bad)?;
    let holds = condition.holds(&state, chunks.as_ref())?;
    match bisect.run_or_scan(engine, |state| condition.holds(state, chunks.as_ref())) {
        Err(error) if error.kind() == ErrorKind::Invalid && !holds => {
            Err(not_so(&error, &condition, bad, &state, chunks.as_ref())?)
        }
        done => done.map_err(|error| of_ends(error.into(), bisect)),
    }
}

/// Returns the failure of a condition that holds nowhere, with the values at the end.
fn not_so(
    error: &milepost::Error,
    condition: &Condition,
    bad: &Point,
    state: &RunState,
    chunks: &dyn Chunks,
) -> Result<Failure> {
    let mut values = Vec::new();
    let mut question = None;
    let json = state.to_json(chunks, MessageRange::None)?;
    for pointer in condition.pointers() {
        match state.value_at(pointer, chunks)? {
            Some(value) => values.push(format!("{pointer} is {}", excerpt(&value.to_string(), 80))),
            None => {
                values.push(format!("{pointer} is not there"));
                question = question.or_else(|| pointers::suggestion(&json, pointer));
            }
        }
    }
    let message = format!("{error}; at {bad} {}", values.join(", "));
    let address = report::address(bad, bad.offset);
    let all = format!("`milepost state {address}` prints the state there");
    let hint = match question {
        Some(question) => format!("{question} {all}"),
        None => all,
    };
    Ok(Failure::new(message).of_kind(ErrorKind::Invalid).hint(hint))
}

fn search_run(engine: &Engine, bisect: &mut Bisect, args: &args::Bisect) -> Result<()> {
    let chunks = engine.chunks();
    bisect
        .run(engine, |point, state| {
            let state = state.to_json(chunks.as_ref(), MessageRange::All)?;
            command::ask(&args.command, point, &state)
        })
        .map_err(|failure| of_ends(failure, bisect))
}

/// Adds a hint at the two ends of a search to the failure that one of them is wrong.
fn of_ends(failure: Failure, bisect: &Bisect) -> Failure {
    let [good, bad] = [bisect.good(), bisect.bad()].map(|end| report::address(&end, end.offset));
    match failure.kind() {
        Some(ErrorKind::Invalid) => failure.hint(format!(
            "`milepost state {good}` and `milepost state {bad}` print the two ends; another good \
             end is named with --good"
        )),
        _ => failure,
    }
}
