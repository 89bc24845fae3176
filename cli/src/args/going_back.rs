//! What can be asked of the commands that go back, with a folder or without.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;

/// What is done with paths that stand in the way.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct Paths {
    /// Take what the snapshot has at this path of the folder, and below it, whatever is there. May
    /// be given more than once.
    #[arg(long, value_name = "PATH")]
    pub theirs: Vec<OsString>,
    /// Leave what is at this path of the folder, and below it. May be given more than once.
    #[arg(long, value_name = "PATH")]
    pub keep_mine: Vec<OsString>,
}

impl Paths {
    pub fn is_given(&self) -> bool {
        !self.theirs.is_empty() || !self.keep_mine.is_empty()
    }
}

/// How the folder goes back.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct How {
    #[command(flatten)]
    pub paths: Paths,
    /// The folder is the one that was captured, though it was elsewhere then.
    #[arg(long)]
    pub moved: bool,

    /// Take away what the snapshot's own rules ignore, too, where it was recorded since
    #[arg(long)]
    pub take_ignored: bool,
    /// Only say what would be done with the folder, and what stands in the way.
    #[arg(long)]
    pub dry_run: bool,
    /// Take the folder even where it is your home, or has your home in it.
    #[arg(long)]
    pub anyway: bool,
}

impl How {
    pub fn is_given(&self) -> bool {
        self.paths.is_given() || self.moved || self.take_ignored || self.dry_run || self.anyway
    }
}

/// What both commands take that go back to a point.
#[derive(Debug, ClapArgs)]
pub struct GoingBack {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    #[command(flatten)]
    pub how: How,
    /// What the new lineage is for, in words.
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub description: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Rollback {
    /// The folder. Default: the one that was captured, where it is there.
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub back: GoingBack,
}

#[derive(Debug, ClapArgs)]
pub struct Restore {
    /// The address of the point; see `milepost --help`. Without one a checkpoint is picked, as with
    /// `milepost checkpoint`.
    pub address: Option<String>,
    /// Take back the files of this folder, and leave the state as it is.
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub how: How,
    /// What the new lineage is for, in words.
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub description: Option<String>,
}

impl Restore {
    /// What is asked of an address.
    pub fn back(&self, address: &str) -> GoingBack {
        GoingBack {
            address: address.to_owned(),
            how: self.how.clone(),
            description: self.description.clone(),
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct Checkpoint {
    /// Only those of this task.
    pub task: Option<String>,
    /// Enter restores without a question.
    #[arg(long)]
    pub yes: bool,
    /// What the new lineage is for, in words.
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub description: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Undo {
    /// The task's id.
    pub task: String,
    /// The folder, where files went back. Default: the one that was captured last.
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub how: How,
}

#[derive(Debug, ClapArgs)]
pub struct Recover {
    /// Only restores of this task.
    pub task: Option<String>,
    /// The folder, where it was moved since, or where the task or the store is not your own.
    /// Default: the one that the restore was begun in.
    #[arg(long, value_name = "DIR", requires = "task")]
    pub files: Option<PathBuf>,
    #[command(flatten)]
    pub paths: Paths,
    /// Take the folder even where it is your home, or has your home in it.
    #[arg(long, requires = "files")]
    pub anyway: bool,
    /// End the restore, and leave the folder as it is.
    #[arg(long, requires = "task", conflicts_with_all = ["files", "theirs", "keep_mine"])]
    pub give_up: bool,
}
