//! Points.

use serde::{Deserialize, Serialize};

use crate::call::call;
use crate::{
    AcceptedConditions, BisectedForm, BlamedForm, BranchRequest, EraseRequest, ErasedForm,
    FileChangesForm, LineageForm, PointForm,
};

/// A part of a state.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct BlameQuery {
    /// The part, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// Return every event that changed the part, not only the last.
    #[serde(default)]
    pub history: bool,
}

/// A condition, and a point where it does not hold yet.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct BisectQuery {
    /// The condition, as of `milepost bisect --when`: `/variables/score < 0.5`.
    pub when: String,
    /// The address of a point before, where it does not hold. Default: the beginning of the
    /// history.
    pub good: Option<String>,
}

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
        optional body: EraseRequest,
    }
    "erase" of "points": change post "/v1/points/{address}/erase"
        -> (ErasedForm) "Also where it had been erased before: `was_erased` says so",
        409 "It goes with its lineage only"
}

call! {
    /// Returns the event that last set a part of the state at a point, or all that changed it.
    Blame {
        /// An address, as one segment: `essay%2F3@12`
        address,
        query: BlameQuery,
    }
    "blame" of "points": long get "/v1/points/{address}/blame" -> (BlamedForm);
        tag "By the hash there"
}

call! {
    /// Searches for the first event after which a condition holds. If it holds at the point, a few
    /// states of the history are read, and the event is right if the condition holds from there on;
    /// otherwise every event up to the point is looked at.
    Bisect {
        /// An address, as one segment: `essay%2F3@12`
        address,
        query: BisectQuery,
    }
    "bisect" of "readings": long get "/v1/points/{address}/bisect" -> (BisectedForm);
        tag "By the hash there"
}

call! {
    /// Opens a new lineage at a point. With `activate` it becomes active, in the same commit.
    Branch {
        /// An address, as one segment: `essay%2F3@12`
        address,
        optional body: BranchRequest,
    }
    "branch" of "points": conditional post "/v1/points/{address}/branch"
        -> created (LineageForm) "The lineage that this key opened",
        409 "The key was used for something else",
        412 "The head of the active lineage is elsewhere",
        500 "What is before the point is damaged",
        503 "The store cannot answer, or a restore of the task has not ended";
        head "With `activate`: the expected head of the active lineage, in quotes",
        key "With the same key one lineage is opened at the point";
        takes |branch: &Branch| AcceptedConditions { key: true, head: branch.body.activate }
}
