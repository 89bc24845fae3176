//! Arguments of `serve`, `ui`, `config` and `token`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::span;

#[derive(Debug, ClapArgs)]
pub struct Serve {
    /// A settings file in TOML. Default: MILEPOST_CONFIG. `milepost config check` shows the
    /// settings in effect.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub flags: ServeFlags,
}

/// Flags that override the settings of the file and of the environment.
#[derive(Debug, ClapArgs)]
pub struct ServeFlags {
    /// The address and port to listen on, where port 0 picks a free one, or `unix:PATH` for a
    /// socket. An address other than loopback requires tokens. Default: 127.0.0.1:7733.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// The number of checkpoints of each task that a cleanup of `/api/v0` keeps, unless it names
    /// one. Default: 10.
    #[arg(long, value_name = "N")]
    pub keep_count: Option<String>,
    /// Refuse all requests that change something, also at the socket in the store.
    #[arg(long)]
    pub read_only: bool,
    /// Serve no page at `/`.
    #[arg(long)]
    pub no_page: bool,
    /// The format of the log on standard error: `human` (the default), `json` or `none`.
    #[arg(long, value_name = "FORMAT")]
    pub log: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Ui {
    /// The address of the point that the page shows; see `milepost --help`. Default: all tasks.
    pub address: Option<String>,
    /// Print the address of the page, which works once and for a minute, and open no browser.
    #[arg(long)]
    pub no_browser: bool,
    /// The address and port to listen on, of this machine only; port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check all settings of `serve`, and print each with its source.
    Check(ConfigCheck),
    /// List your defaults and aliases, which `milepost/config.toml` in your configuration folder
    /// adds to commands.
    List,
}

#[derive(Debug, ClapArgs)]
pub struct ConfigCheck {
    /// A settings file in TOML. Default: MILEPOST_CONFIG.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub flags: ServeFlags,
}

/// Format of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines of text.
    Human,
    /// One JSON object per line.
    Json,
    /// No log.
    None,
}

#[derive(Debug, ClapArgs)]
pub struct Token {
    #[command(subcommand)]
    pub what: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token, and print it. It is shown only once.
    Create(TokenCreate),
    /// List the tokens in order of creation. The store keeps only their hashes.
    List,
    /// Revoke a token, from the next request on.
    Revoke(TokenRevoke),
}

#[derive(Debug, ClapArgs)]
pub struct TokenCreate {
    /// The user of the token, who sees only their own tasks.
    #[arg(long)]
    pub user: String,
    /// Allow the token to see and do everything.
    #[arg(long)]
    pub admin: bool,
    /// The validity: a number and `s`, `m`, `h` or `d`. Default: until it is revoked.
    #[arg(long, value_name = "SPAN", value_parser = validity)]
    pub expires: Option<Duration>,
    /// Allow only reads.
    #[arg(long)]
    pub read_only: bool,
    /// Restrict the token to this task.
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// The most changes per second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub appends_per_second: Option<u32>,
    /// The most bytes that its user may store, including those of the request.
    #[arg(long, value_name = "N")]
    pub bytes: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub struct TokenRevoke {
    /// The 8 digits after `mp_`.
    pub id: String,
}

fn validity(text: &str) -> Result<Duration, String> {
    let span = span(text).filter(|span| !span.is_zero());
    span.ok_or_else(|| "a number and `s`, `m`, `h` or `d`, more than 0".into())
}

#[derive(Debug, ClapArgs)]
pub struct Jobs {
    /// Ask the job with this id to end. A restore that has begun to change files ends whole.
    #[arg(long, value_name = "ID")]
    pub cancel: Option<String>,
}
