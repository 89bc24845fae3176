//! A client for a Milepost service: append, read, follow and steer from another process.
//!
//! `milepost serve` answers at an address, and a program that has a store open at a socket in it
//! (`milepost_server::attach`). [`Client`] has a method for each route of `/v1` that `docs/HTTP.md`
//! fixes. What is answered is in the structures of [`forms`], what is appended in those of
//! [`codec`].
//!
//! ```no_run
//! use milepost_client::{Append, ChangeControl, Client, Followed, Mark, Start};
//! use milepost_client::codec::{Message, RunControl};
//!
//! # async fn work() -> milepost_client::Result<()> {
//! let client = Client::new("http://127.0.0.1:7733")?; // or Client::unix(".milepost/server/socket")
//! client.start_task("essay").await?;
//! let append = Append::from(Message::text("assistant", "a draft")).mark(Mark::new().label("draft"));
//! let appended = client.append("essay", append).await?; // durable when it returns
//! println!("the head is {}", appended.next.0);
//!
//! let state = client.state("essay@draft").await?;
//! println!("{}", state.state);
//! client.control("essay", ChangeControl::to(RunControl::Running)).await?;
//! client.guide("essay", "Fewer adjectives.").await?;
//! client.restore("essay@draft").await?;
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
//! Where no answer comes, nobody knows whether something was done. So what can be asked twice is
//! asked again by the client itself, up to [`ClientBuilder::tries`] times, after 50 ms and then
//! after twice as long each time, half of it random; or when the service says so (`Retry-After`),
//! but not later than after 5 s:
//!
//! | | asked again where |
//! |---|---|
//! | reads, and plans | no whole answer came, or it was 429, 502, 503 or 504 |
//! | [`append`](Client::append), [`control`](Client::control), [`guide`](Client::guide), [`edit_artifacts`](Client::edit_artifacts), [`start_task`](Client::start_task), [`mark`](Client::mark), [`undo`](Client::undo), [`restore`](Client::restore) of the state | the same, since each has an idempotency key: the same one each time, drawn where none is given |
//! | all other changes, and [`verify`](Client::verify) | there was no connection, so nobody got it |
//! | [`file`](Client::file) | as other reads, until its first bytes are there |
//! | [`follow`](Client::follow) | always, behind what came last, until nothing came [`ClientBuilder::reconnects`] times |
//! | [`health`](Client::health), [`ready`](Client::ready) | never |
//!
//! The key that the client draws is good for its own tries. Who has to ask again later, as after a
//! crash, gives a key of their own.
//!
//! # Bounds
//!
//! Each request has an end ([`ClientBuilder::timeout`]), and each answer that is held a longest
//! ([`ClientBuilder::answer_limit`]); files, pages of events and streams are handed on piece by
//! piece.
//!
//! ```text
//! client.rs    a client, and how it is made          tls.rs  socket.rs
//! ask.rs       a request, and its answer             path.rs
//! retry.rs     what is asked again, and when         once.rs  random.rs
//! error.rs     what went wrong
//! tasks.rs  append.rs  events.rs  points.rs  files.rs  checkpoints.rs  pins.rs  control.rs  restores.rs  store.rs
//!              one family of routes each
//! follow.rs    events as they are committed          sse.rs
//! unfold.rs    streams made of steps
//! ```

mod append;
mod checkpoints;
mod client;
mod conditions;
mod control;
mod error;
mod events;
mod files;
mod follow;
mod maintenance;
mod path;
mod pins;
mod points;
mod random;
mod request;
mod restores;
mod retry;
mod sse;
mod tasks;
mod tls;
mod unfold;
mod unix_socket;

/// Bytes of files.
pub use bytes::Bytes;
/// What events say, ids and hashes.
pub use milepost_codec as codec;
/// What is answered.
pub use milepost_forms as forms;

pub use append::Append;
pub use checkpoints::{CheckpointQuery, Mark};
pub use client::{Client, ClientBuilder};
pub use control::{ChangeControl, EditArtifacts, Guidance};
pub use error::{Error, ErrorKind, Result};
pub use events::{EventQuery, Events};
pub use files::FileBytes;
pub use follow::{Followed, Following, Place, Start};
pub use maintenance::{Retention, StatsQuery, Verify};
pub use restores::Restore;
pub use tasks::{NewTask, TaskQuery};
