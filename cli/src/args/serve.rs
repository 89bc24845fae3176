//! What `serve` and `token` are asked.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::span;

#[derive(Debug, ClapArgs)]
pub struct Serve {
    /// A file of settings, in TOML. Without, the one that MILEPOST_CONFIG names.
    /// `milepost config check` shows what holds.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub flags: ServeFlags,
}

/// Flags that stand over settings of a file and of the environment.
#[derive(Debug, ClapArgs)]
pub struct ServeFlags {
    /// Where to listen: an address and a port, where port 0 takes a free one, or `unix:PATH` for a
    /// socket. Elsewhere than on this machine only with tokens. Default: 127.0.0.1:7733.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// How many checkpoints of each task a cleanup of `/api/v0` keeps that does not say it.
    /// Default: 10.
    #[arg(long, value_name = "N")]
    pub keep_count: Option<String>,
    /// How the log on standard error looks: `human` (the default), `json` or `none`.
    #[arg(long, value_name = "FORMAT")]
    pub log: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check all settings, and print each with where it comes from.
    Check(ConfigCheck),
}

#[derive(Debug, ClapArgs)]
pub struct ConfigCheck {
    /// A file of settings, in TOML. Without, the one that MILEPOST_CONFIG names.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub flags: ServeFlags,
}

/// How a log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for people.
    Human,
    /// An object a line.
    Json,
    /// Nothing.
    None,
}

#[derive(Debug, ClapArgs)]
pub struct Token {
    #[command(subcommand)]
    pub what: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token, and print it: it is told once.
    Create(TokenCreate),
    /// List the tokens, in the order they were made. The tokens themselves are kept nowhere.
    List,
    /// End a token, from the next request on.
    Revoke(TokenRevoke),
}

#[derive(Debug, ClapArgs)]
pub struct TokenCreate {
    /// Whose it is: they see their own tasks.
    #[arg(long)]
    pub user: String,
    /// Whoever has it may see and do everything.
    #[arg(long)]
    pub admin: bool,
    /// How long it is good for: a number and `s`, `m`, `h` or `d`. Default: until it is revoked.
    #[arg(long, value_name = "SPAN", value_parser = validity)]
    pub expires: Option<Duration>,
    /// It may look, and change nothing.
    #[arg(long)]
    pub read_only: bool,
    /// It is for this task only.
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// How often a second it may change something.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub appends_per_second: Option<u32>,
    /// How many bytes its user may have stored, together with what it brings.
    #[arg(long, value_name = "N")]
    pub bytes: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub struct TokenRevoke {
    /// The 8 digits behind `mp_`.
    pub id: String,
}

fn validity(text: &str) -> Result<Duration, String> {
    let span = span(text).filter(|span| !span.is_zero());
    span.ok_or_else(|| "a number and `s`, `m`, `h` or `d`, more than 0".into())
}
