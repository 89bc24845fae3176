//! Milepost over HTTP: the same log for engines in other languages, dashboards and operators.
//!
//! `docs/HTTP.md` defines routes, forms, errors, limits and permissions.
//!
//! ```text
//! server             a served engine: options, router, stop (options)
//! listener           TCP, TLS and Unix sockets (tls, attach)
//! connections        accepts connections, serves and closes them (write_timeout, body_guard)
//! routes/            one family of routes a folder
//! forms/             values of the engine as JSON of `/v1` (view/, state_text)
//! streams/           events as they are committed
//! auth               the caller, and what the caller may see and change (tokens/, quotas)
//! write_context      the user and the conditions of a change (append_task)
//! workspace_folder   a workspace's folder on this machine
//! folds              states at a point, computed once for concurrent requests
//! budget             bytes that requests may hold (buffer, read)
//! permit             limits expensive work
//! error              errors as each family of routes shows them (extract)
//! negotiate          the media type of an answer (etag)
//! cors               pages of other origins
//! compress           compressed answers (decompress)
//! stream_body        answers that are longer than memory
//! middleware         request ids, log, limits (request_scope, time)
//! open_files         file descriptors reserved for the store
//! keep_open          reopens the store after a failure (disk)
//! meters             metrics of the service
//! ```

mod app;
mod append_task;
mod attach;
mod auth;
mod body_guard;
mod budget;
mod buffer;
mod compress;
mod connections;
mod cors;
mod decompress;
mod disk;
mod error;
mod etag;
mod extract;
mod folds;
mod forms;
mod keep_open;
mod listener;
mod meters;
mod middleware;
mod negotiate;
mod open_files;
mod options;
mod permit;
mod quotas;
mod read;
mod request_scope;
mod routes;
mod server;
mod state_text;
mod states;
mod stream_body;
mod streams;
mod time;
mod tls;
mod tokens;
mod view;
mod workspace_folder;
mod write_context;
mod write_timeout;

pub use attach::{Attached, attach, attach_with};
pub use cors::{NoOrigin, Origin};
pub use keep_open::KeptOpen;
pub use listener::Listening;
pub use open_files::raise_open_files;
pub use options::ServerOptions;
pub use routes::openapi;
pub use server::Server;
pub use tls::Tls;
pub use tokens::{NewToken, Refused, TokenInfo, TokenLimits, Tokens};
