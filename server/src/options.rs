//! How a store is served.

use std::time::Duration;

/// How a store is served. Limits are in bytes where nothing else is said.
///
/// ```
/// use milepost_server::ServerOptions;
///
/// let options = ServerOptions::default().keep_count(5).body(1 << 20);
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub(crate) keep_count: usize,
    pub(crate) body: usize,
    pub(crate) per_token: usize,
    pub(crate) streams: usize,
    pub(crate) request_timeout: Duration,
    pub(crate) drain: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            keep_count: 10,
            body: 16 << 20,
            per_token: 64,
            streams: 2048,
            request_timeout: Duration::from_secs(60),
            drain: Duration::from_secs(30),
        }
    }
}

impl ServerOptions {
    /// How many checkpoints of each task a cleanup keeps that does not say it. Default: 10.
    #[must_use]
    pub fn keep_count(mut self, checkpoints: usize) -> Self {
        self.keep_count = checkpoints;
        self
    }

    /// The longest body of a request. Default: 16 MiB.
    #[must_use]
    pub fn body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// How many requests may be under way for one token. Default: 64.
    #[must_use]
    pub fn per_token(mut self, requests: usize) -> Self {
        self.per_token = requests.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// How many event streams there may be. Default: 2,048.
    #[must_use]
    pub fn streams(mut self, streams: usize) -> Self {
        self.streams = streams.min(tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// How long an answer may take to begin. Default: 60 s.
    #[must_use]
    pub fn request_timeout(mut self, at_most: Duration) -> Self {
        self.request_timeout = at_most;
        self
    }

    /// How long what was accepted may take when it stops. Default: 30 s.
    #[must_use]
    pub fn drain(mut self, at_most: Duration) -> Self {
        self.drain = at_most;
        self
    }
}
