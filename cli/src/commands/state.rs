//! `state`: what the events before a point add up to.

use milepost::{Engine, MessageRange};

use crate::args;
use crate::error::{Failure, Result};
use crate::output::Out;

/// How many messages people are shown.
const LAST: u64 = 3;

pub fn run(engine: &Engine, args: &args::State, out: &mut Out) -> Result<()> {
    let messages = match args.messages.as_deref() {
        None if out.json => MessageRange::All,
        None => MessageRange::Last(LAST),
        Some("all") => MessageRange::All,
        Some("none") => MessageRange::None,
        Some(number) => match number.parse() {
            Ok(number) => MessageRange::Last(number),
            Err(_) => {
                let message = format!("--messages is `{number}`, not `all`, `none` or a number");
                return Err(Failure::new(message));
            }
        },
    };
    let point = engine.point(&args.address)?;
    let state = engine.run_state(&point)?;
    let chunks = engine.chunks();
    let json = state.to_json(chunks.as_ref(), messages)?;
    if out.json {
        Ok(out.json(&json)?)
    } else {
        Ok(out.pretty(&json)?)
    }
}
