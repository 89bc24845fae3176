//! `state`: what the events before a point add up to.

use milepost::{Engine, MessageRange};

use super::point;
use crate::args;
use crate::error::Result;
use crate::output::Out;

/// How many messages people are shown.
const LAST: u64 = 3;

pub fn run(engine: &Engine, args: &args::State, out: &mut Out) -> Result<()> {
    let usual = if out.json {
        MessageRange::All
    } else {
        MessageRange::Last(LAST)
    };
    let messages = args.messages.unwrap_or(usual);
    let point = point(engine, &args.address)?;
    let state = engine.run_state(&point)?;
    let chunks = engine.chunks();
    let json = state.to_json(chunks.as_ref(), messages)?;
    if out.json {
        Ok(out.json(&json)?)
    } else {
        Ok(out.pretty(&json)?)
    }
}
