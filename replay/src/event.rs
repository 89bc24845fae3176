//! Events: the input of a fold.

use milepost_codec::{Body, Header, LineageId, Offset};

/// One decoded event of a lineage.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The lineage that recorded the event: the one being read, or an ancestor of it.
    pub lineage: LineageId,
    /// The offset, counted from the root.
    pub offset: Offset,
    /// The header. It remains when the body is erased.
    pub header: Header,
    /// The body; absent if it was erased.
    pub body: Option<Body>,
}
