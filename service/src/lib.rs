//! Operations on an engine with the requests and answers of [`milepost_api`], without a transport.
//!
//! The HTTP service, the command and the package for Python call the same functions, so an answer
//! does not depend on the way to the store. Authentication, limits and the wording of errors for a
//! transport are the caller's.
//!
//! ```text
//! operations/ operations that answer at once
//! serve       an operation that this crate performs
//! summaries   summaries of all tasks, kept in memory, sorted and searched
//! view        an engine as one caller sees it
//! reader/     lineages as a person reads them, with maps that are kept
//! tag         what an answer depends on
//! error       errors of the engine and of restores, missing rights, answers that are too large
//! jobs/       work that takes long or changes folders
//! forms/      conversions between the engine's types and the API's
//! ```
//!
//! A module imports only modules below it.

// tidy: names the parts

mod error;
pub mod forms;
pub mod jobs;
pub mod operations;
pub mod reader;
mod serve;
mod summaries;
mod tag;
mod view;

pub use error::{Error, OperationResult};
pub use serve::{Serve, ServeTagged};
pub use summaries::{Columns, Found, Search, Shown, Summaries, VALUE_MAX};
pub use tag::Tag;
pub use view::{CHANGES, Seen, View, erasures, named_tag};
