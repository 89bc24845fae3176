//! What can be told a run.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct Control {
    /// The task's id.
    pub task: String,
    /// Why, in words.
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Guide {
    /// The task's id.
    pub task: String,
    /// What it should do. Several words need no quotes.
    #[arg(required = true)]
    pub text: Vec<String>,
    /// What it is about, as the program that runs names it.
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Edit {
    /// The task's id.
    pub task: String,
    /// New values by name. What is not JSON is a string.
    #[arg(required = true, value_name = "NAME=JSON")]
    pub artifacts: Vec<String>,
}
