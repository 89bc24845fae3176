//! `state`: the fold of the events before a point.

// tidy: one command

use milepost::state::MessageRange;

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::error::Result;
use crate::output::Out;

/// Number of messages that are printed by default.
const LAST: u64 = 3;

/// Print the state at a point.
#[derive(Debug, clap::Args)]
pub struct StateArgs {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// Messages of the conversation to print: `all`, `none`, or the last N. Default: the last 3, or
    /// all with --json.
    #[arg(long, value_name = "all|none|N", value_parser = message_range)]
    pub messages: Option<MessageRange>,
}

impl CliCommand for StateArgs {
    const EXAMPLES: Examples = &[
        ("state run", "what all events come to"),
        ("state run@17 --messages none", "before event 17, without the conversation"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn message_range(text: &str) -> Result<MessageRange, String> {
    match text {
        "all" => Ok(MessageRange::All),
        "none" => Ok(MessageRange::None),
        number => match number.parse() {
            Ok(number) => Ok(MessageRange::Last(number)),
            Err(_) => Err("neither `all` nor `none` nor a number".into()),
        },
    }
}

fn run(source: &dyn Backend, args: &StateArgs, out: &mut Out) -> Result<()> {
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
