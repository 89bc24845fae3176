//! Arguments of `share`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, value_parser};
use milepost_api::ShareAsked;

#[derive(Debug, ClapArgs)]
pub struct Share {
    /// The task.
    pub task: String,
    /// The HTML file to write, or `-` for standard output.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub output: Option<PathBuf>,
    /// Share all texts as they are, secrets included. Asks first.
    #[arg(long)]
    pub no_redact: bool,
    /// Withhold events with a text that matches this regular expression, too.
    #[arg(long, value_name = "REGEX")]
    pub withhold: Vec<String>,
    /// The largest file, in bytes: the longest texts are withheld first. Default: 32 MiB; at most
    /// 256 MiB.
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u64).range(1..=ShareAsked::MAX))]
    pub max: Option<u64>,
    /// Print what the file would have, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}
