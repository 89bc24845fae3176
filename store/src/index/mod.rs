//! The index: what finds tasks, lineages and checkpoints without reading events. It is a
//! projection of the log, kept beside the records it follows from, and can be built anew.
//!
//! ```text
//! keys.rs     the key of each kind of entry
//! entries.rs  what entries hold
//! indexer.rs  records to entries
//! scan.rs     entries in order of keys
//! ```

mod entries;
mod indexer;
pub mod keys;
mod scan;

pub use crate::index::entries::{
    ActivationEntry, BaseEntry, KeyEntry, LineageEntry, LogHead, MarkEntry, MarkPlace,
    PendingEntry, PinEntry, SnapshotNote, Tally, TaskEntry,
};
pub use crate::index::indexer::{IndexInput, PriorIndex, Tallies, index_record, is_indexed};
pub use crate::index::scan::{Entry, IndexPut, Scan, Shown, walk};

/// Bytes of a key or a value of an entry at most: what the local store can hold in one leaf.
pub const ENTRY_MAX: usize = 3000;
