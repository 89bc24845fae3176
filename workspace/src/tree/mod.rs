//! Stored trees.
//!
//! ```text
//! read.rs      one of them: folders and paths
//! file.rs      the contents of files
//! item.rs      what an entry is, beside others
//! count.rs     how much is in one
//! compare.rs   several side by side
//! ```

mod compare;
mod count;
mod file;
mod item;
mod read;

pub(crate) use compare::side_by_side;
pub(crate) use count::{Budget, Counts, count};
pub(crate) use file::{FileReader, part, parts};
pub(crate) use item::{same, tree_of};
pub(crate) use read::{Folder, capture, entries, find};
