//! Arguments of `export` and `import`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::record::Format;

#[derive(Debug, ClapArgs)]
pub struct Export {
    /// The task. Default: all tasks of the store.
    pub task: Option<String>,
    /// Include the captured files.
    #[arg(long, conflicts_with = "redact")]
    pub files: bool,
    /// Replace text that looks like a secret. A redacted export is imported as a copy.
    #[arg(long)]
    pub redact: bool,
    /// The file to write. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct Import {
    /// A file of `export`, or `-` for standard input; a folder: a project with
    /// `persistence/checkpoint/`, its `persistence` folder, a folder of ckpt-*.json files, or one
    /// with sessions of Claude Code; or a file that `record` reads.
    #[arg(value_name = "FILE|FOLDER")]
    pub from: PathBuf,
    /// For an export of one task: import it as a copy under this name, with hashes of its own. For
    /// a run of another program: the name of its task.
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// The owner of the tasks. An export names its own. Default: the current user.
    #[arg(long)]
    pub user: Option<String>,
    /// The format of runs of other programs.
    #[arg(long, default_value = "auto")]
    pub format: Format,
    /// Stop at the first line that cannot be read.
    #[arg(long)]
    pub strict: bool,
}
