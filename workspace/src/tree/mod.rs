//! Stored trees.
//!
//! ```text
//! read.rs      one tree: folders and paths
//! file.rs      contents of files
//! item.rs      helpers for entries
//! count.rs     counts of entries, and limits on them
//! compare.rs   comparison of several trees
//! ```

// tidy: names the parts

mod compare;
mod count;
mod file;
mod item;
mod read;

pub(crate) use compare::side_by_side;
pub(crate) use count::{Budget, Counts, count};
pub(crate) use file::{FileReader, part, parts};
pub(crate) use item::{FileContent, same, tree_of};
pub(crate) use read::{TreeFolder, capture, entries, find, skips, skips_of};
