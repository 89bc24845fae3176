//! Points.

// tidy: one family

use crate::call::call;
use crate::{EraseAsked, ErasedForm};

call! {
    /// Erases the body of the event at a point permanently. Kind, time, actor, key and hash are
    /// kept.
    Erase {
        /// An address, as one segment: `essay%2F3@12`
        address,
        optional body: EraseAsked,
    }
    "erase" of "points": change post "/v1/points/{address}/erase"
        -> (ErasedForm) "Also where it had been erased before: `was_erased` says so",
        409 "It goes with its lineage only"
}
