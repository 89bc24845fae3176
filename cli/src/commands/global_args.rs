//! Arguments of `milepost` itself, which every command takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use super::Command;
use crate::args::duration;
use crate::output::When;

const ADDRESSES: &str = "\
Addresses of a point:
  TASK            the head of the task's active lineage
  TASK@N          before event N (`show` prints event N)
  TASK@LABEL      a checkpoint by its label
  TASK@ok         the last successful checkpoint
  TASK~N          N checkpoints back
  TASK/LINEAGE    another lineage, with the same endings
  @HEX            a checkpoint by its id, or 8 or more digits of it
  @ALIAS          a checkpoint by the id that another system gave it
Inside a task's id, `@`, `~`, `/` and `%` are percent-encoded.

Exit codes: 0 done, 1 the request could not be met, 2 usage, 3 corrupt or diverged, 4 conflict,
70 a bug.";

/// Heading of the options that every command takes.
const EVERYWHERE: &str = "Everywhere";

/// Records the steps of agents, optimizers and training loops, and goes back to any of them.
#[derive(Debug, Parser)]
#[command(name = "milepost", version, after_long_help = ADDRESSES, max_term_width = 100)]
pub struct Args {
    /// The store. Default: MILEPOST_STORE, or the nearest `.milepost` folder upwards.
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Use a service instead of a local store: `http://127.0.0.1:7733`. Default: MILEPOST_SERVER.
    /// The token is read from MILEPOST_TOKEN.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "URL",
          conflicts_with = "store")]
    pub server: Option<String>,
    /// Print JSON: one document, or one object per line for `log`.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
    /// When to use colours.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "WHEN",
          default_value = "auto")]
    pub color: When,
    /// Print times in local time, not in UTC. TZ names another time zone.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE)]
    pub local: bool,
    /// Print without a pager. Otherwise output that is longer than the screen goes to
    /// MILEPOST_PAGER, PAGER or `less`.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE)]
    pub no_pager: bool,
    /// Open the store even if it belongs to another user.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE)]
    pub trust: bool,
    /// The key of a keyed store: a file with 64 hexadecimal digits. Default: MILEPOST_KEY_FILE, or
    /// the digits themselves in MILEPOST_KEY.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Keep an anchor up to date in this file, on another disk if possible. A store that is behind
    /// its anchor is not opened.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "FILE")]
    pub anchor_to: Option<PathBuf>,
    /// The longest wait for a store that another process has open: `500ms`, `5s`, `1m`. Default:
    /// 5s; `run` waits 30s to record its result.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "DURATION",
          value_parser = duration)]
    pub wait: Option<Duration>,
    #[command(subcommand)]
    pub command: Command,
}
