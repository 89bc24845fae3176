//! Arguments of `serve` and `config check`.

// tidy: two commands share them

// Flags that override the settings of the file and of the environment.
#[derive(Debug, clap::Args)]
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

/// Format of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines of text.
    Human,
    /// One JSON object per line.
    Json,
    /// No log.
    None,
}
