//! Meters: counts, levels and durations of an open store.
//!
//! ```text
//! table.rs       the metrics of an open store, with their names and help texts
//! meters.rs      counters and levels
//! histogram.rs   distributions of values
//! facade.rs      handles of the recorder of the `metrics` facade
//! no_facade.rs   the same without that feature: nothing is reported
//! ```
//!
//! A meter is an atomic number: an append updates it without a lock, a look-up or an allocation.

// tidy: names the parts
#[cfg(feature = "metrics")]
mod facade;
#[cfg(not(feature = "metrics"))]
#[path = "no_facade.rs"]
mod facade;
mod histogram;
mod meters;
mod table;

pub use crate::metrics::histogram::Histogram;
pub use crate::metrics::meters::DegradedMeters;
pub use crate::metrics::table::{Meters, Metric, Metrics, Value};
