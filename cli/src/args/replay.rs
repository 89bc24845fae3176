//! Arguments of `replay`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args as ClapArgs;

use super::span;

const MORE: &str = "\
On a terminal each event is a line; elsewhere it is a line of JSON. The command behind `--` gets
each event as JSON on its standard input; where it fails the replay ends.";

#[derive(Debug, ClapArgs)]
#[command(after_long_help = MORE)]
pub struct Replay {
    /// The address of the point to stop before; see `milepost --help`.
    pub address: String,
    /// A factor of the original pace, or `max` for no waiting.
    #[arg(long, value_name = "N|max", default_value = "1", value_parser = speed)]
    pub speed: Speed,
    /// The longest wait between two events.
    #[arg(long, value_name = "SPAN", default_value = "5s", value_parser = wait)]
    pub longest: Duration,
    /// The offset to start from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub from: u64,
    /// Replay nothing: fold the task's events from the beginning, and from each snapshot, and
    /// compare the states.
    #[arg(long, conflicts_with_all = ["speed", "longest", "from", "command"])]
    pub check: bool,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Speed of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    Times(f64),
    Max,
}

fn speed(text: &str) -> Result<Speed, String> {
    match text.parse::<f64>() {
        _ if text == "max" => Ok(Speed::Max),
        Ok(times) if times.is_finite() && times > 0.0 => Ok(Speed::Times(times)),
        _ => Err("neither a number over 0 nor `max`".into()),
    }
}

fn wait(text: &str) -> Result<Duration, String> {
    span(text).ok_or_else(|| "a span is a whole number and ms, s, m, h or d, as in 500ms".into())
}
