//! Arguments of `rewind`.

// tidy: one command

use clap::Args as ClapArgs;

use super::FolderOptions;

#[derive(Debug, ClapArgs)]
pub struct Rewind {
    /// The prompt: `prompt-2`, or `~1` for the last one, `~2` for the one before it. With the
    /// session in front: `SESSION@prompt-2`, `SESSION~1`. `@NAME` is a mark of yours. Default: pick
    /// one of the last session of this project.
    #[arg(value_name = "PROMPT")]
    pub place: Option<String>,
    /// List the prompts and marks of the session with the files that changed within each, and do
    /// nothing.
    #[arg(long, conflicts_with_all = ["files_only", "conversation_only", "yes", "resume"])]
    pub list: bool,
    /// Take back the files, and leave the conversation.
    #[arg(long, conflicts_with = "conversation_only")]
    pub files_only: bool,
    /// Take back the conversation, and leave the files.
    #[arg(long)]
    pub conversation_only: bool,
    #[command(flatten)]
    pub options: FolderOptions,
    /// Do it without a question.
    #[arg(short = 'y', long)]
    pub yes: bool,
    /// Start the agent in the conversation from before the prompt.
    #[arg(long, conflicts_with_all = ["files_only", "dry_run"])]
    pub resume: bool,
}
