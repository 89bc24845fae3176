//! Arguments of the commands that capture a folder.

use milepost_api::{Big, CaptureOptions};

use super::number::whole;

// Options for scanning a folder.
#[derive(Debug, clap::Args)]
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
