//! The chosen place of a lineage, and the keys of its documents.

// tidy: two small types

use milepost::LineageId;

use crate::tui::document::Tab;

/// The offsets of a turn or of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spot {
    pub first: u64,
    pub next: u64,
}

/// A document of a spot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DocumentKey {
    pub lineage: LineageId,
    pub spot: Spot,
    pub tab: Tab,
}
