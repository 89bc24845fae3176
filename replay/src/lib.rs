//! Events to state and what can be said about both: fold, verify, diff.
//!
//! No file, no clock, no randomness: iterators in, answers out. What does not fit into memory
//! goes through [`Chunks`], which whoever runs the fold provides.
//!
//! ```text
//! event      what the fold sees
//! reducer    events -> state
//! run_state/ the built-in reducer, RunState; control has the legal transitions
//! sequence/  lists longer than memory, in chunks
//! document/  JSON that is patched, canonical
//! pointer    names of a part of a value
//! verify     the chain over a range
//! diff/      two states as a list of changes
//! ```
//!
//! # Example
//!
//! ```
//! use milepost_codec::{Body, Header, LineageId, Message};
//! use milepost_replay::{Event, MemoryChunks, MessageRange, Reducer, RunReducer, fold};
//!
//! let chunks = MemoryChunks::default();
//! let events = ["hello", "how are you"].into_iter().zip(0..).map(|(text, offset)| {
//!     let body = Body::Message(Message::text("user", text));
//!     let header = Header { kind: body.kind(), ..Header::default() };
//!     Ok(Event { lineage: LineageId(0), offset, header, body: Some(body) })
//! });
//! let state = fold(&RunReducer, RunReducer.initial(), events, &chunks)?;
//! let json = state.to_json(&chunks, MessageRange::Last(1))?;
//! assert_eq!(json["message_count"], 2);
//! assert_eq!(json["messages"][0]["content"], "how are you");
//! # Ok::<(), milepost_replay::Error>(())
//! ```

mod chunks;
mod control;
mod diff;
mod document;
mod event;
mod pointer;
mod reducer;
mod run_state;
mod sequence;
mod verify;

pub use chunks::{Chunks, MemoryChunks};
pub use control::transition;
pub use diff::{
    Change, ChangeKind, ChangeLimits, Changes, diff, diff_states, diff_states_up_to, to_patch,
};
pub use document::{DOCUMENT_WEIGHT_MAX, Document};
pub use event::Event;
pub use milepost_codec::{Error, ErrorKind, Result};
pub use reducer::{Reducer, fold};
pub use run_state::{
    Entry, Guidance, LastError, MessageRange, OpenCall, RunReducer, RunState, Step, StepStatus,
};
pub use sequence::{Item, Sequence, SequenceIter};
pub use verify::Verifier;
