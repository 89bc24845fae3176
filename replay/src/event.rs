//! One event as the fold sees it.

use milepost_codec::{Body, Header, LineageId, Offset};

/// One event of a lineage, decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The lineage it was recorded in: the one read, or an ancestor of it.
    pub lineage: LineageId,
    /// Its place, counted from the root.
    pub offset: Offset,
    /// What stays whatever happens to the body.
    pub header: Header,
    /// What it says; absent where that was erased.
    pub body: Option<Body>,
}
