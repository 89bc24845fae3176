//! Arguments of `run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

use super::{Look, duration};

/// Largest output that is recorded, in bytes. An event has room for it, even as base64.
const OUTPUT_MAX: u64 = 8 << 20;

const MORE: &str = "\
Exit codes: that of the command; 128 and its number where a signal ended it; 124 the time was over;
125 it ran, and something of it is not recorded; 126 it could not be started; 127 it was not found.
Where it was not run they are those of `milepost capture`.";

#[derive(Debug, ClapArgs)]
#[command(after_long_help = MORE)]
pub struct Run {
    /// The task to record into.
    #[arg(long, value_name = "ID")]
    pub task: String,
    /// The working directory of the command, captured before and after.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Label the checkpoints `before-TEXT` and `after-TEXT`.
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// End the command and its process group after this time: `500ms`, `90s`, `30m` or `12h`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Capture no files: record only the command, its output and its exit status.
    #[arg(long, conflicts_with_all = ["max_file", "max_total", "anyway", "forget_ignored"])]
    pub no_files: bool,
    /// The most output to record, in bytes: its first half and its last half.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20,
          value_parser = clap::value_parser!(u64).range(..=OUTPUT_MAX))]
    pub output_max: u64,
    /// Pass MILEPOST_KEY to the command, if it opens the store itself.
    #[arg(long)]
    pub pass_key: bool,
    #[command(flatten)]
    pub look: Look,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
