//! Event streams: the history of a task's active lineage as it grows, as server-sent events.
//!
//! A stream's place is a lineage and the next offset. A stream reads missed events from the log. A
//! slow reader therefore holds nothing here, and any server of the store can continue a stream.
//!
//! ```text
//! feed.rs    one thread for all tasks with streams; encodes each commit once
//! reader.rs  one stream: reads the log until it has caught up, then the feed
//! sse.rs     the encoding
//! ```

mod feed;
mod reader;
mod sse;

pub(crate) use feed::Feeds;
pub(crate) use reader::{Wanted, open};
pub(crate) use sse::Place;
