//! A client for a Milepost service: append, read, follow and control from another process.
//!
//! `milepost serve` listens on an address; a program with an open store listens on a socket in it
//! (`milepost_server::attach`). [`Client::call`] performs the operations in [`calls`]; other routes
//! of `/v1` in `docs/HTTP.md` have a method each.
//! Answers use the structures of [`api`], events those of [`codec`].
//!
//! ```no_run
//! use milepost_client::api::{GuidanceRequest, MarkRequest, RestoreRequest, TaskRequest};
//! use milepost_client::calls::{Guide, Restore, StartTask};
//! use milepost_client::codec::Message;
//! use milepost_client::{Append, Client, Followed, Start};
//!
//! # async fn work() -> milepost_client::Result<()> {
//! // Or `Client::unix(".milepost/server/socket")`.
//! let client = Client::new("http://127.0.0.1:7733")?;
//! let essay = TaskRequest { id: "essay".into(), ..TaskRequest::default() };
//! client.call(&StartTask::new(essay)).await?;
//! let draft = MarkRequest { label: Some("draft".into()), ..MarkRequest::default() };
//! let append = Append::from(Message::text("assistant", "a draft")).mark(draft);
//! let appended = client.append("essay", append).await?; // durable when it returns
//! println!("the head is {}", appended.next.0);
//!
//! let state = client.state("essay@draft").await?;
//! println!("{}", state.state);
//! let guidance = GuidanceRequest { text: "Fewer adjectives.".into(), target: None };
//! client.call(&Guide::new("essay", guidance)).await?;
//! let back = RestoreRequest { to: "essay@draft".into(), ..RestoreRequest::default() };
//! client.call(&Restore::new(back)).await?;
//!
//! let mut following = client.follow("essay", Start::Beginning);
//! while let Some(followed) = following.next().await {
//!     if let Followed::Event(event) = followed? {
//!         println!("{} {}", event.offset.0, event.kind);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Asking again
//!
//! A missing answer leaves the outcome of a request unknown. The client retries requests that are
//! safe to repeat, up to [`ClientBuilder::tries`] times in all. It waits 50 ms before the first
//! retry and doubles the wait each time, half of it random. `Retry-After` extends a wait. No wait
//! is over 5 s.
//!
//! - Reads and plans are retried after a missing or incomplete answer, and after 429, 502, 503 and
//!   504.
//! - [`append`](Client::append), [`append_branch`](Client::append_branch),
//!   [`start_job`](Client::start_job) and the operations that take an idempotency key
//!   ([`Effect::Conditional`](api::Effect::Conditional): `Control`, `Guide`, `EditArtifacts`,
//!   `StartTask`, `Mark`, `Branch`, and `Restore`, `Undo`, `Switch` and `Redo` of the state) are
//!   retried in the same cases, each with one key: the caller's, or a generated one.
//! - All other changes, as `Verify`, and restores and undos with files, are retried only if no
//!   connection was made. After a missing answer of a restore with files, the task shows its
//!   outcome.
//! - [`file`](Client::file) and [`states`](Client::states) are retried like other reads until the
//!   first bytes arrive.
//! - [`follow`](Client::follow) always reconnects after its last item, until
//!   [`ClientBuilder::reconnects`] connections in a row bring nothing.
//! - [`health`](Client::health) and [`ready`](Client::ready) are never retried.
//!
//! A generated key covers the client's own retries. A caller that may have to retry later, such as
//! after a crash, sets its own key: [`Conditions::key`].
//!
//! # Bounds
//!
//! Each request has a time limit ([`ClientBuilder::timeout`]), and each buffered answer a size
//! limit ([`ClientBuilder::answer_limit`]). Files, pages of events and streams are passed on piece
//! by piece.
//!
//! ```text
//! client.rs    the client and its builder            tls.rs  unix_socket.rs
//! request.rs   a request and its answer              path.rs  answer_lines.rs
//! call.rs      operations that are values            raw_request.rs
//! retry.rs     retries                               conditions.rs  random.rs
//! error.rs     errors
//! tasks.rs  append.rs  events.rs  points.rs  states.rs  files.rs  attachments.rs
//! jobs.rs  agents.rs  me.rs  readings.rs  health.rs
//!              one family of other routes each
//! follow.rs    events as they are committed          sse.rs
//! unfold.rs    streams made of steps
//! webhook.rs   documents of hooks, posted to another service
//! ```

mod agents;
mod answer_lines;
mod append;
mod attachments;
mod call;
mod client;
mod conditions;
mod error;
mod events;
mod files;
mod follow;
mod health;
mod jobs;
mod me;
mod path;
mod points;
mod random;
mod raw_request;
mod readings;
mod request;
mod retry;
mod sse;
mod states;
mod tasks;
mod tls;
mod unfold;
mod unix_socket;
mod webhook;

/// The type of file content.
pub use bytes::Bytes;
/// Answers.
pub use milepost_api as api;
pub use milepost_api::calls;
/// Event bodies, ids and hashes.
pub use milepost_codec as codec;
pub use milepost_sockets::is_listening;

pub use answer_lines::AnswerLines;
pub use append::Append;
pub use client::{Client, ClientBuilder};
pub use conditions::Conditions;
pub use error::{Error, ErrorKind, Result};
pub use events::{EventQuery, Events};
pub use files::FileBytes;
pub use follow::{Followed, Following, Place, Start};
pub use raw_request::RawRequest;
pub use states::{CheckpointStates, StatesQuery};
pub use tasks::SummaryQuery;
pub use webhook::Webhook;
