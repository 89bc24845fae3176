//! The store of [Milepost](https://crates.io/crates/milepost): logs of records in a folder, with an
//! index over them, and chunks.
//!
//! It knows records, frames and index entries, and nothing of checkpoints, restores or states: the
//! engine above assigns offsets and chains, and the store makes a batch durable, orders it and
//! gives it back. This crate is part of the engine, not an interface: use `milepost`.
//!
//! ```text
//! log/         the seam, a log in memory, a log in a folder
//! index/       keys and entries of the index, and what a record adds to it
//! digest.rs    sums over the index and the copies
//! live.rs      the part of the logs that retention kept
//! trees.rs     the chunks that captured workspaces need
//! opened.rs    the report of an opening
//! meters/      counts, levels and durations
//! files.rs     files that a crash cannot break        process.rs  the process that opened a store
//! clock.rs     times                                  entropy.rs  randomness
//! sync/        locks and channels, or those of a scheduler that tries interleavings
//! ```

// tidy: names the parts
pub mod clock;
pub mod digest;
pub mod entropy;
pub mod files;
pub mod index;
pub mod live;
pub mod log;
pub mod meters;
pub mod opened;
pub mod process;
pub mod sync;
pub mod trees;
