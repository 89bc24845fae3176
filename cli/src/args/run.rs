//! Arguments of `run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::{ScanOptions, duration};

/// Largest output that is recorded, in bytes. An event has room for it, even as base64.
const OUTPUT_MAX: u64 = 8 << 20;

const MORE: &str = "\
Exit codes: that of the command; 128 and its number where a signal ended it; 124 the time was over;
125 it ran, and something of it is not recorded; 126 it could not be started; 127 it was not found.
Where it was not run they are those of `milepost capture`.";

/// When `run` marks checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RunWhen {
    Always,
    Risk,
}

#[derive(Debug, ClapArgs)]
#[command(after_long_help = MORE)]
pub struct Run {
    /// The task to record into. Default: the task named after the working directory, started if
    /// there is none.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// The working directory of the command, captured before and after.
    #[arg(long, alias = "files", value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// When to mark a checkpoint before and after, with the files: `always`, or at `risk`, which is
    /// a command that may remove or overwrite files, a --label, or no capture in the last five
    /// minutes.
    #[arg(long, value_name = "WHEN", default_value = "always")]
    pub when: RunWhen,
    /// Label the checkpoints `before-TEXT` and `after-TEXT`.
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// End the command and its process group after this time: `500ms`, `90s`, `30m` or `12h`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Capture no files: record only the command, its output and its exit status.
    #[arg(long, conflicts_with_all = ["max_file", "max_total", "anyway", "forget_ignored",
                                      "no_default_ignores"])]
    pub no_files: bool,
    /// The most output to record, in bytes: its first half and its last half.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20,
          value_parser = clap::value_parser!(u64).range(..=OUTPUT_MAX))]
    pub output_max: u64,
    /// Pass MILEPOST_KEY to the command, if it opens the store itself.
    #[arg(long)]
    pub pass_key: bool,
    #[command(flatten)]
    pub scan: ScanOptions,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
