//! Arguments of the commands that go back, with or without a folder.

use std::ffi::OsString;

// Choices for conflicting paths.
#[derive(Debug, Clone, Default, clap::Args)]
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

// Options for restoring the folder.
#[derive(Debug, Clone, Default, clap::Args)]
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

// Arguments that `restore` and `rollback` share.
#[derive(Debug, Default, clap::Args)]
pub struct GoingBack {
    #[command(flatten)]
    pub options: FolderOptions,
    /// Only take back what the run changed, in calls of tools; leave what others changed since.
    #[arg(long)]
    pub leave_others: bool,
    /// A description of the new lineage.
    #[arg(short = 'm', long, alias = "message", value_name = "TEXT")]
    pub description: Option<String>,
}
