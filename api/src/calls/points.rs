//! Points.

// tidy: one family

use crate::call::call;
use crate::{EraseAsked, ErasedForm, FileChangesForm, PointForm};

call! {
    /// Resolves an address.
    Point {
        /// An address, as one segment: `essay%2F3@12`
        address,
    }
    "point" of "points": read get "/v1/points/{address}" -> (PointForm); tag "By the hash there"
}

call! {
    /// Returns the differences between the folders captured at two points.
    FileChanges {
        /// An address, as one segment: `essay%2F3@12`
        address,
        /// A later one, of any task that one may see
        other,
    }
    "file_changes" of "files": long get "/v1/points/{address}/file-changes/{other}"
        -> (FileChangesForm), 413 "More than 100,000 files differ"; tag "The ids of the captures"
}

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
