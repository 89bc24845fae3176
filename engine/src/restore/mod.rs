//! Restores: forks of a lineage, with and without participants, and switches between lineages.

// tidy: names the parts
pub(crate) mod branch;
pub(crate) mod builder;
pub(crate) mod fork;
pub(crate) mod last_capture;
pub(crate) mod restores;
pub(crate) mod switch;
pub(crate) mod two_phase;

pub use self::branch::Branch;
pub use self::last_capture::Captures;
pub use self::restores::Restores;
pub use crate::handles::participant::{CaptureContext, PrepareContext};
pub use crate::handles::participation::Participation;
pub use crate::history::pending::{PendingRestore, RestoreRecord};
