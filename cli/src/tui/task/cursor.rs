//! The chosen turn or event of a lineage, and its documents.

// tidy: small types

use milepost::LineageId;

/// The offsets of the turn or the event at the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CursorRange {
    pub first: u64,
    pub next: u64,
}

/// The documents of a turn or an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tab {
    Step,
    State,
    Changes,
    Files,
    Raw,
}

/// The tabs in their order.
pub const TABS: [(Tab, &str); 5] = [
    (Tab::Step, "Step"),
    (Tab::State, "State"),
    (Tab::Changes, "Changes"),
    (Tab::Files, "Files"),
    (Tab::Raw, "Raw"),
];

/// A document of a turn or an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DocumentKey {
    pub lineage: LineageId,
    pub range: CursorRange,
    pub tab: Tab,
}
