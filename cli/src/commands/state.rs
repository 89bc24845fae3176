//! `state`: the fold of the events before a point.

// tidy: one command

use milepost::state::MessageRange;

use crate::args;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::Out;

/// Number of messages that are printed by default.
const LAST: u64 = 3;

pub fn run(source: &dyn Backend, args: &args::State, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    match args.messages {
        None | Some(MessageRange::All) if out.json => source.print_state(&point, out),
        messages => {
            let messages = messages.unwrap_or(MessageRange::Last(LAST));
            let state = source.state(&point, messages)?;
            match out.json {
                true => Ok(out.json(&state)?),
                false => Ok(out.pretty(&state)?),
            }
        }
    }
}
