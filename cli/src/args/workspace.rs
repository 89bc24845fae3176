//! What can be asked of the commands about captured files.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;

use milepost_workspace::WorkspaceOptions;

#[derive(Debug, ClapArgs)]
pub struct Capture {
    /// The folder.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// The task whose files they are.
    #[arg(long, value_name = "ID")]
    pub task: String,
    /// Mark a checkpoint with this label, too. It is not all digits.
    #[arg(long)]
    pub label: Option<String>,
    #[command(flatten)]
    pub look: Look,
}

/// How a folder is looked at.
#[derive(Debug, ClapArgs)]
pub struct Look {
    /// Leave out files over this size, in bytes. Default: 67108864 (64 MiB).
    #[arg(long, value_name = "BYTES")]
    pub max_file: Option<u64>,
    /// Leave out files from the first on that does not fit into this size of all. Default:
    /// 8589934592 (8 GiB).
    #[arg(long, value_name = "BYTES")]
    pub max_total: Option<u64>,
    /// Capture the home folder, `/`, or a folder above the home all the same.
    #[arg(long)]
    pub anyway: bool,
    /// Let go of files that were captured once and that a rule ignores now. They stay in the
    /// folder.
    #[arg(long)]
    pub forget_ignored: bool,
}

impl Look {
    /// The same for the crate that looks.
    pub fn options(&self) -> WorkspaceOptions {
        let mut options =
            WorkspaceOptions::default().anyway(self.anyway).forget_ignored(self.forget_ignored);
        if let Some(bytes) = self.max_file {
            options = options.max_file(bytes);
        }
        if let Some(bytes) = self.max_total {
            options = options.max_total(bytes);
        }
        options
    }
}

#[derive(Debug, ClapArgs)]
pub struct Files {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// Only what is at this path of the folder, or below it.
    pub path: Option<OsString>,
    /// List what was left out, and why.
    #[arg(long)]
    pub skips: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Cat {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// The path of the file, below the folder.
    pub path: OsString,
}

#[derive(Debug, ClapArgs)]
pub struct Diff {
    /// The address of the point before.
    pub before: String,
    /// The address of the point after.
    pub after: String,
    /// Compare the captured files, and not the states.
    #[arg(long)]
    pub files: bool,
    /// Only how many lines of each file came and went.
    #[arg(long, requires = "files")]
    pub stat: bool,
    /// Only what is at these paths of the folder, or below them.
    #[arg(value_name = "PATH", requires = "files")]
    pub paths: Vec<OsString>,
}
