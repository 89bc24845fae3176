//! Meters: counts, levels and durations of an open store.
//!
//! ```text
//! meters.rs      the meters of an open store
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

pub use crate::metrics::histogram::Histogram;
pub use crate::metrics::meters::{DegradedMeters, Meters};
