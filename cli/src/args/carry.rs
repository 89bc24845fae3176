//! What can be asked of `export` and `import`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::record::Format;

#[derive(Debug, ClapArgs)]
pub struct Export {
    /// The task. Default: all tasks of the store.
    pub task: Option<String>,
    /// With the files that were captured for it.
    #[arg(long, conflicts_with = "redact")]
    pub files: bool,
    /// Replace what looks like a secret in all texts; it is imported as a copy then.
    #[arg(long)]
    pub redact: bool,
    /// The file to write. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct Import {
    /// A file that `export` made, or `-` for standard input; a folder: a project's with
    /// `persistence/checkpoint/` in it, that `persistence` folder, the folder of the ckpt-*.json
    /// files, or one with sessions of Claude Code; or a file that `record` reads.
    #[arg(value_name = "FILE|FOLDER")]
    pub from: PathBuf,
    /// Of an export with one task: import it as a copy under this name, with hashes of its own. Of
    /// a run of another program: the task it becomes.
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// Whose the tasks are; an export says it itself. Default: the current user.
    #[arg(long)]
    pub user: Option<String>,
    /// How runs of another program are written down.
    #[arg(long, default_value = "auto")]
    pub format: Format,
    /// Stop at the first line that cannot be read.
    #[arg(long)]
    pub strict: bool,
}
