//! The damage sweep: every file of a store is damaged in every way, and the answers after opening
//! are compared with those before.
//!
//! ```text
//! sweep/stores.rs    the two stores that are damaged, and older copies of their files
//! sweep/answers.rs   everything that is asked of a store
//! sweep/cases.rs     what is damaged: a case, its name, and how it is done
//! sweep/list.rs      which cases there are for a store, and a sample of them
//! sweep/judge.rs     executes a case, and classifies its result
//! sweep/goes_on.rs   writes to the store after that
//! sweep/children.rs  cases in a process of their own, with a time limit
//! sweep/table.rs     the counts, and examples of what must not be
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

pub mod answers;
pub mod cases;
pub mod children;
mod goes_on;
pub mod judge;
pub mod list;
pub mod stores;
pub mod table;
