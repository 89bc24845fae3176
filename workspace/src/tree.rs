//! Stored trees.
//!
//! ```text
//! read.rs      one of them: folders, paths, the contents of files
//! compare.rs   several side by side
//! ```

mod compare;
mod read;

pub(crate) use compare::side_by_side;
pub(crate) use read::{FileReader, Folder, capture, entries, find};
