//! Arguments of `capture`, `files`, `cat` and `diff`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;

use milepost_api::{Big, CaptureOptions};

use super::number::whole;

#[derive(Debug, ClapArgs)]
pub struct Capture {
    /// The folder.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// The task that the files belong to. Default: the task named after the folder, started if
    /// there is none.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Also mark a checkpoint with this label. It must not be all digits.
    #[arg(long)]
    pub label: Option<String>,
    #[command(flatten)]
    pub scan: ScanOptions,
}

/// Options for scanning a folder.
#[derive(Debug, ClapArgs)]
pub struct ScanOptions {
    /// Leave out files larger than this, in bytes. Default: 67108864 (64 MiB).
    #[arg(long, hide_short_help = true, value_name = "BYTES",
          value_parser = whole::<u64>)]
    pub max_file: Option<u64>,
    /// The largest total size, in bytes. The first file that exceeds it and all later ones are left
    /// out. Default: 8589934592 (8 GiB).
    #[arg(long, hide_short_help = true, value_name = "BYTES",
          value_parser = whole::<u64>)]
    pub max_total: Option<u64>,
    /// Capture the folder even if it is your home folder, `/`, or a folder above your home.
    #[arg(long, hide_short_help = true)]
    pub anyway: bool,
    /// Leave out files that were captured before and that a rule ignores now. They stay in the
    /// folder.
    #[arg(long, hide_short_help = true)]
    pub forget_ignored: bool,
    /// Also capture what tools make again: `node_modules`, `target`, `__pycache__`, `*.log` and the
    /// others of the default list in docs/WORKSPACE.md.
    #[arg(long, hide_short_help = true)]
    pub no_default_ignores: bool,
}

impl ScanOptions {
    /// Returns the options for a job.
    pub fn asked(&self) -> CaptureOptions {
        CaptureOptions {
            max_file: self.max_file.map(Big),
            max_total: self.max_total.map(Big),
            anyway: self.anyway,
            forget_ignored: self.forget_ignored,
            no_default_ignores: self.no_default_ignores,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct Files {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// Only files at or below this path of the folder.
    pub path: Option<OsString>,
    /// List the entries that were left out, and the reasons.
    #[arg(long)]
    pub skips: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Cat {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// The path of the file in the folder.
    pub path: OsString,
}

#[derive(Debug, ClapArgs)]
pub struct Diff {
    /// The address of the first point.
    pub before: String,
    /// The address of the second point.
    pub after: String,
    /// Compare the captured files, not the states.
    #[arg(long)]
    pub files: bool,
    /// Print values whole, and also the offsets and call ids of messages, which differ by their
    /// position alone.
    #[arg(long, conflicts_with = "files")]
    pub full: bool,
    /// Print only the numbers of added and removed lines of each file.
    #[arg(long, requires = "files")]
    pub stat: bool,
    /// Only files at or below these paths of the folder.
    #[arg(value_name = "PATH", requires = "files")]
    pub paths: Vec<OsString>,
}
