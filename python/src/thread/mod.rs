//! Threads of LangGraph: checkpoints put, got and listed, with the bytes of LangGraph's serializer.
//!
//! ```text
//! python      conversions from and to Python
//! operations  put, get, list
//! history     ancestors with some channels
//! source      what they need of a store, of an engine here or of a client
//! cache       states of checkpoints
//! ```

mod cache;
mod history;
mod operations;
mod python;
mod source;

pub use cache::Cache;
pub use history::Ancestors;
pub use operations::{Getting, Listing, Put, Putting};
pub use python::{Found, GivenParts, given, into_python};
