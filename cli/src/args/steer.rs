//! Arguments of `pause`, `resume`, `stop`, `guide` and `edit`.

// tidy: one family of commands

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct Control {
    /// The task's id.
    pub task: String,
    /// The reason.
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Guide {
    /// The task's id.
    pub task: String,
    /// The instruction. Several words need no quotes.
    #[arg(required = true)]
    pub text: Vec<String>,
    /// The subject of the instruction, as the running program names it.
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Edit {
    /// The task's id.
    pub task: String,
    /// New values by name. A value that is not JSON is a string.
    #[arg(required = true, value_name = "NAME=JSON")]
    pub artifacts: Vec<String>,
}
