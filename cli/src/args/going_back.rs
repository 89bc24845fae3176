//! Arguments of the commands that go back, with or without a folder.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Choices for conflicting paths.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct Paths {
    /// Use the snapshot at and below this path of the folder, over any local change. May be given
    /// more than once.
    #[arg(long, value_name = "PATH")]
    pub theirs: Vec<OsString>,
    /// Keep the present content at and below this path of the folder. May be given more than once.
    #[arg(long, value_name = "PATH")]
    pub keep_mine: Vec<OsString>,
}

impl Paths {
    pub fn is_given(&self) -> bool {
        !self.theirs.is_empty() || !self.keep_mine.is_empty()
    }
}

/// Options for restoring the folder.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct FolderOptions {
    #[command(flatten)]
    pub paths: Paths,
    /// Accept the folder as the captured one, although it was elsewhere then.
    #[arg(long)]
    pub moved: bool,

    /// Also remove files that were recorded since the snapshot and that its rules ignore
    #[arg(long)]
    pub take_ignored: bool,
    /// Only print the changes to the folder and the conflicts.
    #[arg(long)]
    pub dry_run: bool,
    /// Accept the folder even if it is your home folder or contains it.
    #[arg(long)]
    pub anyway: bool,
}

impl FolderOptions {
    pub fn is_given(&self) -> bool {
        self.paths.is_given() || self.moved || self.take_ignored || self.dry_run || self.anyway
    }
}

/// Arguments that `restore` and `rollback` share.
#[derive(Debug, ClapArgs)]
pub struct GoingBack {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    #[command(flatten)]
    pub options: FolderOptions,
    /// Only take back what the run changed, in calls of tools; leave what others changed since.
    #[arg(long)]
    pub leave_others: bool,
    /// A description of the new lineage.
    #[arg(short = 'm', long, alias = "message", value_name = "TEXT")]
    pub description: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Rollback {
    /// The folder. Default: the captured one, if it exists.
    #[arg(long, alias = "dir", value_name = "DIR")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub back: GoingBack,
}

#[derive(Debug, ClapArgs)]
pub struct Restore {
    /// The address of the point; see `milepost --help`. Without an address, pick a checkpoint as in
    /// `milepost checkpoint`.
    pub address: Option<String>,
    /// Restore the files of this folder, and leave the state as it is.
    #[arg(long, alias = "dir", value_name = "DIR")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub options: FolderOptions,
    /// Only take back what the run changed, in calls of tools; leave what others changed since.
    #[arg(long)]
    pub leave_others: bool,
    /// A description of the new lineage.
    #[arg(short = 'm', long, alias = "message", value_name = "TEXT")]
    pub description: Option<String>,
}

impl Restore {
    /// Returns the arguments for a restore to `address`.
    pub fn back(&self, address: &str) -> GoingBack {
        GoingBack {
            address: address.to_owned(),
            options: self.options.clone(),
            leave_others: self.leave_others,
            description: self.description.clone(),
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct Branch {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// A description of the new lineage.
    #[arg(short = 'm', long, alias = "message", value_name = "TEXT")]
    pub description: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Switch {
    /// The lineage: `TASK/LINEAGE`, as `milepost lineages TASK` shows them.
    #[arg(value_name = "TASK/LINEAGE")]
    pub address: String,
}

#[derive(Debug, ClapArgs)]
pub struct Checkpoint {
    /// Only checkpoints of this task.
    pub task: Option<String>,
    /// Restore on Enter, without confirmation.
    #[arg(long)]
    pub yes: bool,
    /// A description of the new lineage.
    #[arg(short = 'm', long, alias = "message", value_name = "TEXT")]
    pub description: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Undo {
    /// The task's id.
    pub task: String,
    /// The folder, if files were restored. Default: the folder that was captured last.
    #[arg(long, alias = "dir", value_name = "DIR")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub options: FolderOptions,
}

#[derive(Debug, ClapArgs)]
pub struct Recover {
    /// Only restores of this task.
    pub task: Option<String>,
    /// The folder, if it was moved, or if the task or the store is not your own. Default: the
    /// folder in which the restore began.
    #[arg(long, alias = "dir", value_name = "DIR", requires = "task")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub paths: Paths,
    /// Accept the folder even if it is your home folder or contains it.
    #[arg(long, requires = "files")]
    pub anyway: bool,
    /// End the restore, and leave the folder as it is.
    #[arg(long, requires = "task", conflicts_with_all = ["files", "theirs", "keep_mine"])]
    pub give_up: bool,
}
