//! Event streams: the history of a task's active lineage as it grows, as server-sent events.
//!
//! A stream's place is a lineage and the offset that comes next, and what it has missed it reads
//! from the log by itself. So who reads slowly holds nothing here, and a stream can be gone on with
//! from any server of the store.
//!
//! ```text
//! feed.rs    one thread for all tasks with streams: what is committed, encoded once, to all of them
//! stream.rs  one reader: from the log until it has caught up, then from the feed
//! frame.rs   how it is written
//! ```

mod feed;
mod reader;
mod sse;

pub(crate) use feed::Feeds;
pub(crate) use reader::{Wanted, open};
pub(crate) use sse::Place;
