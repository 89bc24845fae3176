//! The index: entries that find tasks, lineages and checkpoints without reading events. The index
//! is a projection of the log and can be rebuilt from it.
//!
//! ```text
//! keys.rs     the key of each kind of entry
//! entries.rs  the values of entries
//! indexer.rs  records to entries
//! scan.rs     entries in order of keys
//! ```

// tidy: names the parts

mod entries;
mod indexer;
pub mod keys;
mod scan;

pub use crate::index::entries::{
    ActivationEntry, BaseEntry, KeyEntry, LineageEntry, LogHead, MarkEntry, MarkPlace,
    PendingEntry, PinEntry, SnapshotNote, SummaryNote, Tally, TaskEntry,
};
pub use crate::index::indexer::{IndexInput, PriorIndex, Tallies, index_record, is_indexed};
pub use crate::index::scan::{Entry, EntryVisitor, IndexPut, Scan, walk};

/// The maximum bytes of an entry's key or value: the local store keeps both in one leaf.
pub const ENTRY_MAX: usize = 3000;
