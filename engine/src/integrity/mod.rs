//! Integrity of a store: the report of its opening, verification, and anchors.

pub(crate) mod anchor;
pub(crate) mod verify;

pub use self::anchor::{Anchor, AnchoredLog};
pub use self::verify::VerifyReport;
pub use milepost_store::open_report::{Finding, OpenReport, Outcome, Progress};
pub use milepost_store::{EventPlace, Fault};
