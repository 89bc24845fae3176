//! Replay: folds events into states, verifies chains and compares states.
//!
//! This crate does no I/O and uses neither clock nor randomness. Data that does not fit into memory
//! goes through [`Chunks`], which the caller provides.
//!
//! ```text
//! event      the input of a fold
//! reducer    events -> state
//! run_state/ the built-in reducer, RunState; control has the legal transitions
//! sequence/  lists longer than memory, in chunks
//! document/  patched JSON, in canonical form
//! pointer    JSON pointers
//! condition/ conditions on a state
//! verify     the chain over a range
//! diff/      the changes between two states
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
mod condition;
mod control;
mod diff;
mod document;
mod event;
mod pointer;
mod reducer;
mod run_state;
mod sequence;
mod serde_reducer;
mod verify;

pub use chunks::{Chunks, MemoryChunks};
pub use condition::{Condition, Operator};
pub use control::transition;
pub use diff::{
    Change, ChangeKind, ChangeLimits, Changes, diff, diff_states, diff_states_up_to, to_patch,
};
pub use document::{DOCUMENT_WEIGHT_MAX, Document, text_value};
pub use event::Event;
pub use milepost_codec::{Error, ErrorKind, Result};
pub use reducer::{Reducer, fold};
pub use run_state::{
    Entry, Guidance, LastError, MessageRange, OpenCall, RunReducer, RunState, Step, StepStatus,
    piece_items, piece_source,
};
pub use sequence::{Item, Sequence, SequenceIter};
pub use serde_reducer::SerdeReducer;
pub use verify::Verifier;
