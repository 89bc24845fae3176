//! Replacement of `facade.rs` without the feature `metrics`: records nothing.

pub use NoFacade as CounterHandle;
pub use NoFacade as Facade;
pub use NoFacade as GaugeHandle;
pub use NoFacade as HistogramHandle;

/// The facade, and each of its handles.
#[derive(Debug, Clone)]
pub struct NoFacade;

impl NoFacade {
    pub fn new(_store: String) -> Self {
        Self
    }

    pub fn counter(&self, _name: &'static str, _what: &'static str) -> Self {
        Self
    }

    pub fn gauge(&self, _name: &'static str, _what: &'static str) -> Self {
        Self
    }

    pub fn part(&self, _name: &'static str, _part: &'static str, _what: &'static str) -> Self {
        Self
    }

    pub fn counts(&self, _name: &'static str, _what: &'static str) -> Self {
        Self
    }

    pub fn seconds(&self, _name: &'static str, _what: &'static str) -> Self {
        Self
    }

    pub fn add(&self, _more: u64) {}

    pub fn set(&self, _now: u64) {}

    pub fn record(&self, _value: u64) {}
}
