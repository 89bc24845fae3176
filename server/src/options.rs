//! How a store is served.

use std::time::Duration;

use crate::cors::Origin;

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
    pub(crate) tasks: u64,
    pub(crate) header: usize,
    pub(crate) connections: usize,
    pub(crate) memory: usize,
    pub(crate) disk_reserve: u64,
    pub(crate) origins: Vec<Origin>,
    pub(crate) read_timeout: Duration,
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
            tasks: 50_000,
            header: 32 << 10,
            connections: 4096,
            memory: 192 << 20,
            disk_reserve: 16 << 20,
            origins: Vec::new(),
            read_timeout: Duration::from_secs(30),
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

    /// Limits the tasks of each user who is no admin. Answers that list all of a user's tasks, and
    /// cleanups of them, take memory for each. Default: 50,000.
    #[must_use]
    pub fn tasks(mut self, tasks: u64) -> Self {
        self.tasks = tasks;
        self
    }

    /// The longest head of a request, from 8 KiB to 1 MiB. Default: 32 KiB.
    #[must_use]
    pub fn header(mut self, bytes: usize) -> Self {
        self.header = bytes.clamp(8 << 10, 1 << 20);
        self
    }

    /// How many connections there may be. Further ones wait until one ends. Default: 4,096.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// Bytes that bodies, what is parsed of them, states that are looked at, and long events under
    /// way may hold in all, a quarter each, and half of that for one token; what is larger alone is
    /// answered alone. At least 1 MiB. Default: 192 MiB.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes.max(1 << 20);
        self
    }

    /// With fewer free bytes on the store's disk what makes the store grow is refused, so that no
    /// write of it fails; what takes bytes away is not. Default: 16 MiB.
    #[must_use]
    pub fn disk_reserve(mut self, bytes: u64) -> Self {
        self.disk_reserve = bytes;
        self
    }

    /// Origins whose pages browsers let ask. Default: none.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = Origin>) -> Self {
        self.origins = origins.into_iter().collect();
        self
    }

    /// How long a head may take, and the next piece of a body; all of a body four times as long,
    /// and a second more for each 16 KiB of it. Caller takes nothing of an answer for twice as long
    /// is cut off. Default: 30 s.
    #[must_use]
    pub fn read_timeout(mut self, at_most: Duration) -> Self {
        self.read_timeout = at_most.max(Duration::from_millis(1));
        self
    }

    /// How long an answer may take to begin once the request's body is there. Default: 60 s.
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
