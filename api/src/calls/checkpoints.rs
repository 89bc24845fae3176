//! Checkpoints, and data attached to them.

use milepost_codec::MarkStatus;
use serde::{Deserialize, Serialize};

use crate::call::call;
use crate::{
    AttachRequest, AttachedForm, AttachmentForm, CheckpointForm, CheckpointRequest, Listed,
    UnmarkedForm,
};

/// Order of a list of checkpoints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckpointOrder {
    /// The newest commit first.
    #[default]
    Committed,
    /// The newest creation time first.
    Created,
    /// The greatest alias first; only checkpoints with one.
    Alias,
}

/// Filters for a list of a task's checkpoints.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct CheckpointQuery {
    /// Only checkpoints marked on this lineage itself.
    #[cfg_attr(feature = "schema", param(value_type = Option<u64>, maximum = 4_294_967_295_u64))]
    pub lineage: Option<u32>,
    /// Only checkpoints of this status: `success` or `failure`.
    #[cfg_attr(feature = "schema", param(value_type = Option<String>))]
    pub status: Option<MarkStatus>,
    /// Only checkpoints whose metadata contains all of this: a JSON object, as text.
    pub filter: Option<String>,
    /// Only checkpoints with this alias, on any lineage of the task.
    pub alias: Option<String>,
    /// Only checkpoints with an alias that sorts before this text.
    pub before: Option<String>,
    /// The order: `committed` (default) or `created`, newest first, or `alias`, the greatest first.
    #[serde(default)]
    #[cfg_attr(feature = "schema", param(value_type = Option<String>))]
    pub order: CheckpointOrder,
    /// The page size: 1 to 100, default 20.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 100))]
    pub limit: Option<usize>,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
}

/// Filters for checkpoints of all visible tasks.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct AllCheckpointsQuery {
    /// Only checkpoints of this task. A list by alias needs it.
    pub task: Option<String>,
    /// Only checkpoints of this status: `success` or `failure`.
    #[cfg_attr(feature = "schema", param(value_type = Option<String>))]
    pub status: Option<MarkStatus>,
    /// Only checkpoints whose metadata contains all of this: a JSON object, as text.
    pub filter: Option<String>,
    /// Only checkpoints with this alias, on any lineage of the task.
    pub alias: Option<String>,
    /// Only checkpoints with an alias that sorts before this text.
    pub before: Option<String>,
    /// The order: `committed` (default) or `created`, newest first, or `alias`, the greatest first.
    #[serde(default)]
    #[cfg_attr(feature = "schema", param(value_type = Option<String>))]
    pub order: CheckpointOrder,
    /// The page size: 1 to 100, default 20.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 100))]
    pub limit: Option<usize>,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
}

/// Checkpoints to remove.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct UnmarkQuery {
    /// Only checkpoints of this task.
    pub task: Option<String>,
    /// Only checkpoints marked on this lineage itself.
    #[cfg_attr(feature = "schema", param(value_type = Option<u64>, maximum = 4_294_967_295_u64))]
    pub lineage: Option<u32>,
    /// Only checkpoints with this alias, on any lineage of the task.
    pub alias: Option<String>,
    /// Only checkpoints with an alias that sorts before this text.
    pub before: Option<String>,
    /// Only checkpoints of this status: `success` or `failure`.
    #[cfg_attr(feature = "schema", param(value_type = Option<String>))]
    pub status: Option<MarkStatus>,
    /// Only checkpoints whose metadata contains all of this: a JSON object, as text.
    pub filter: Option<String>,
}

/// An alias.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct AliasQuery {
    /// An alias of the checkpoint.
    pub alias: String,
}

call! {
    /// Lists the checkpoints of a task, newest first, or by alias.
    Checkpoints {
        /// The task's id
        task,
        query: CheckpointQuery,
    }
    "checkpoints" of "checkpoints": read get "/v1/tasks/{task}/checkpoints"
        -> (Listed<CheckpointForm>)
}

call! {
    /// Lists the checkpoints of all visible tasks, newest first.
    AllCheckpoints {
        query: AllCheckpointsQuery,
    }
    "all_checkpoints" of "checkpoints": read get "/v1/checkpoints" -> (Listed<CheckpointForm>)
}

call! {
    /// Returns a checkpoint by its id, or by a unique prefix of 8 or more digits.
    Checkpoint {
        /// Its id, or 8 or more digits of its beginning
        id,
    }
    "checkpoint" of "checkpoints": read get "/v1/checkpoints/{id}" -> (CheckpointForm); tag "Its id"
}

call! {
    /// Removes a checkpoint's mark. Its events stay until a cleanup finds them unneeded.
    Unmark {
        /// The checkpoint's id, or a unique prefix of 8 or more digits
        id,
    }
    "unmark" of "checkpoints": change delete "/v1/checkpoints/{id}"
        -> () "It is taken away", 409 "It is pinned"
}

call! {
    /// Removes the marks of all checkpoints that a query finds, except pinned ones.
    UnmarkAll {
        query: UnmarkQuery,
    }
    "unmark_all" of "checkpoints": change delete "/v1/checkpoints"
        -> (UnmarkedForm), 409 "One was pinned during the call: nothing is removed"
}

call! {
    /// Lists the data that is attached by an alias, in the order in which its keys were first used.
    Attachments {
        /// The task's id
        task,
        query: AliasQuery,
    }
    "attachments" of "checkpoints": read get "/v1/tasks/{task}/attachments"
        -> (Listed<AttachmentForm>)
}

call! {
    /// Marks a checkpoint.
    Mark {
        /// The task's id
        task,
        body: CheckpointRequest,
    }
    "mark" of "checkpoints": conditional post "/v1/tasks/{task}/checkpoints"
        -> created (CheckpointForm),
        409 "The active lineage changed, or the key was used for something else",
        412 "The head is elsewhere";
        head "The expected head, in quotes",
        key "Marked once under this key";
        at "/v1/checkpoints"
}

call! {
    /// Attaches data to the checkpoint that has an alias, whether it is marked already or later. An
    /// attachment whose writer and index are there already is left out.
    Attach {
        /// The task's id
        task,
        body: AttachRequest,
    }
    "attach" of "checkpoints": change post "/v1/tasks/{task}/attachments" -> (AttachedForm)
}
