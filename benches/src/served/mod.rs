//! The service under load, compared with direct calls of the engine. The service is a process of
//! its own, as users run it, and so is the load generator `wrk`.
//!
//! ```text
//! service.rs   `milepost serve` as a child, and what memory it holds
//! load.rs      `wrk`: its requests, and their results
//! readers.rs   many readers of one event stream
//! rows.rs      the figures
//! ```

mod load;
mod readers;
pub mod rows;
mod service;
