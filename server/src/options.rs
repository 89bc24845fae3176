//! Options of the service.

use std::sync::Arc;
use std::time::Duration;

use milepost_api::{HookRequest, HookTakenForm};
use milepost_runtime::run::Checkpointer;

use crate::agent_hooks::AgentHooks;
use crate::cors::Origin;
use crate::error::ApiError;

/// Options of a served store. Limits are in bytes unless stated otherwise.
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
    pub(crate) checkpoints: Option<Arc<Checkpointer>>,
    pub(crate) backups: bool,
    pub(crate) agent_hooks: AgentHooks,
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
    pub(crate) sessions_only: bool,
    pub(crate) read_only: bool,
    pub(crate) page: bool,
    /// True for the socket in the store, whose callers are programs of this machine.
    pub(crate) is_at_store: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            keep_count: 10,
            checkpoints: None,
            backups: false,
            agent_hooks: AgentHooks::default(),
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
            sessions_only: false,
            read_only: false,
            page: true,
            is_at_store: false,
        }
    }
}

impl ServerOptions {
    /// Sets the checkpoints of each task that a cleanup keeps by default. Default: 10.
    #[must_use]
    pub fn keep_count(mut self, checkpoints: usize) -> Self {
        self.keep_count = checkpoints;
        self
    }

    /// Sets what marks checkpoints of the tasks to which clients append, while they append and when
    /// they are idle. Default: none are marked but those that clients ask for.
    ///
    /// ```
    /// use milepost_runtime::run::{Checkpointer, Risk};
    /// use milepost_server::ServerOptions;
    ///
    /// let checkpoints = Checkpointer::default().policy(Risk::default());
    /// let options = ServerOptions::default().checkpoints(checkpoints);
    /// # let _ = options;
    /// ```
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: impl Into<Arc<Checkpointer>>) -> Self {
        self.checkpoints = Some(checkpoints.into());
        self
    }

    /// Makes backups for requests of a cleanup with `backup`: files in the store's folder, as
    /// `milepost_formats::backup` writes them. Default: such requests are refused.
    #[must_use]
    pub fn backups(mut self, backups: bool) -> Self {
        self.backups = backups;
        self
    }

    /// Refuses a request for a backup if the service makes none.
    pub(crate) fn check_backups(&self) -> Result<(), ApiError> {
        match self.backups {
            true => Ok(()),
            false => {
                let text = "this service makes no backups: clean up without `backup`";
                Err(ApiError::Invalid(text.into()))
            }
        }
    }

    /// Sets the function that records documents of hooks of coding agents, for programs at the
    /// store's socket. It returns once the agent may continue. Default: none, and documents are
    /// refused.
    #[must_use]
    pub fn agent_hooks<F>(mut self, take: F) -> Self
    where
        F: Fn(HookRequest) -> milepost::Result<HookTakenForm> + Send + Sync + 'static,
    {
        self.agent_hooks = AgentHooks::by(take);
        self
    }

    /// Sets whether callers of a service without tokens need a session.
    /// [`Server::code`](crate::Server::code) makes the codes that begin one. Default: false, and
    /// every caller has all rights.
    #[must_use]
    pub fn sessions_only(mut self, are_required: bool) -> Self {
        self.sessions_only = are_required;
        self
    }

    /// Sets whether requests that change something are refused, also at the socket in the store.
    /// Default: false.
    #[must_use]
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.read_only = is_read_only;
        self
    }

    /// Sets whether the service has the page of `milepost-page` at `/`. Default: true.
    #[must_use]
    pub fn page(mut self, has_page: bool) -> Self {
        self.page = has_page;
        self
    }

    /// Sets the maximum length of a request body. Default: 16 MiB.
    #[must_use]
    pub fn body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// Sets the maximum number of active requests of a token. Default: 64.
    #[must_use]
    pub fn per_token(mut self, requests: usize) -> Self {
        self.per_token = requests.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// Sets the maximum number of event streams. Default: 2,048.
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

    /// Sets the maximum length of a request head, from 8 KiB to 1 MiB. Default: 32 KiB.
    #[must_use]
    pub fn header(mut self, bytes: usize) -> Self {
        self.header = bytes.clamp(8 << 10, 1 << 20);
        self
    }

    /// Sets the maximum number of connections. Further ones wait until one ends. Default: 4,096.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// Sets the total bytes of bodies, their parsed values, states in use and long events in
    /// transit: a quarter for each, half of a quarter for each token. A larger request runs alone.
    /// At least 1 MiB. Default: 192 MiB.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes.max(1 << 20);
        self
    }

    /// Sets the free space of the store's disk below which requests that grow the store are
    /// refused, so that its writes do not fail. Requests that shrink it are accepted. Default: 16
    /// MiB.
    #[must_use]
    pub fn disk_reserve(mut self, bytes: u64) -> Self {
        self.disk_reserve = bytes;
        self
    }

    /// Sets the origins whose pages may send requests. Default: none.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = Origin>) -> Self {
        self.origins = origins.into_iter().collect();
        self
    }

    /// Sets the time limit of a request head and of each piece of a body. A whole body may take
    /// four times as long, and one more second for each 16 KiB. A client that reads nothing of an
    /// answer for twice the limit is disconnected. Default: 30 s.
    #[must_use]
    pub fn read_timeout(mut self, at_most: Duration) -> Self {
        self.read_timeout = at_most.max(Duration::from_millis(1));
        self
    }

    /// Sets the time from the end of a request's body to the start of its answer. Default: 60 s.
    #[must_use]
    pub fn request_timeout(mut self, at_most: Duration) -> Self {
        self.request_timeout = at_most;
        self
    }

    /// Sets how long accepted requests may take after a stop. Default: 30 s.
    #[must_use]
    pub fn drain(mut self, at_most: Duration) -> Self {
        self.drain = at_most;
        self
    }
}
