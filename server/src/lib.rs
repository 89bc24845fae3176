//! Milepost over HTTP: the same log for engines in other languages, dashboards and operators.
//!
//! `docs/HTTP.md` defines routes, forms, errors, limits and permissions.
//!
//! A module imports only modules of the lines below its own, or of its own line.
//!
//! ```text
//! attach             the server of a store's own socket
//! server             a served engine: options, router, stop (keep_open)
//! forward            requests that another program answers
//! routes/            one family of routes a folder
//! connections        accepts connections, serves and closes them (write_timeout)
//! middleware         authorization, log and limits around each request (compress, body_guard)
//! streams            events as they are committed (summary_stream)
//! append_task        appends, inline or on a thread
//! state_text         a state as JSON, longer than memory (stream_body)
//! job_runner         long work on threads of its own
//! states             states at a point, computed once for concurrent requests (columns)
//! extract            bodies, queries and names of requests (decompress)
//! app                the state that all requests share (jobs, meters, summaries)
//! feeds              one feed for all streams of a task (sse)
//! folds              states that requests use
//! write_context      the user and the conditions of a change
//! auth               the caller (tokens/, sessions, quotas)
//! forms/             values of the engine as JSON of `/v1` (read)
//! request_scope      the id, the user and the waiting time of a request
//! budget             bytes that requests may hold (buffer)
//! permit             limits expensive work and the requests of a token
//! listener           TCP, TLS and Unix sockets (tls, host_limits)
//! options            options of the service (agent_hooks)
//! cors               pages of other origins
//! negotiate          the media type of an answer (etag)
//! error              errors as each family of routes shows them
//! ```

mod agent_hooks;
mod app;
mod append_task;
mod attach;
mod auth;
mod body_guard;
mod budget;
mod buffer;
mod call;
mod columns;
mod compress;
mod connections;
mod cors;
mod decompress;
mod error;
mod etag;
mod extract;
mod feeds;
mod folds;
mod forms;
mod forward;
mod host_limits;
mod job_runner;
mod jobs;
mod keep_open;
mod listener;
mod meters;
mod middleware;
mod negotiate;
mod options;
mod permit;
mod quotas;
mod request_scope;
mod routes;
mod server;
mod sessions;
mod sse;
mod state_text;
mod states;
mod stream_body;
mod streams;
mod summary_stream;
mod tls;
mod tokens;
mod write_context;
mod write_timeout;

pub use attach::{Attached, attach, attach_with};
pub use cors::{NoOrigin, Origin};
pub use host_limits::raise_open_files;
pub use keep_open::KeptOpen;
pub use listener::Listening;
pub use options::ServerOptions;
pub use routes::openapi;
pub use server::Server;
pub use tls::Tls;
pub use tokens::{NewToken, Refused, TokenInfo, TokenLimits, Tokens};
