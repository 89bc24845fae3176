//! Meters: counts, levels and durations of an open store.
//!
//! ```text
//! meters.rs      what is counted, where it happens
//! histogram.rs   how values are spread
//! facade.rs      what is told to the recorder of the `metrics` facade
//! no_facade.rs   the same without that feature: nothing is told
//! ```
//!
//! A meter is an atomic number: an append takes no lock for it, looks nothing up and allocates
//! nothing.

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
