//! Bodies of requests that import runs, folders and exports.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use super::read;
use crate::Big;

/// Runs, folders of checkpoint files and exports to import.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// The files and folders, in order.
    pub paths: Vec<ImportPath>,
    /// Take every path as the file of a run, as `milepost record` does: no folders, no exports.
    #[serde(default)]
    pub runs_only: bool,
    /// The task of a single run or export, or the beginning of the names of a file's tasks.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task: Option<String>,
    /// The owner of the tasks. An export names its own, and is refused with this.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub user: Option<String>,
    /// The owner of the tasks of runs and folders if `user` is left out. Default: the caller.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub default_user: Option<String>,
    /// The format of the runs: `jsonl`, `swe-agent`, `tau-bench`, `claude-code`, `codex`,
    /// `gemini-cli`, `qwen-code`, `copilot`, `opencode`, `openai`, `langgraph`, `checkpoint-table`
    /// or `pause-state`. Default: told by the content.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub format: Option<String>,
    /// Stop at the first line, task or input that cannot be imported.
    #[serde(default)]
    pub strict: bool,
    /// Record a line of an unknown kind as an `application` event, instead of refusing it.
    #[serde(default)]
    pub allow_unknown: bool,
    /// The largest event of a run in bytes. Default: 64 MiB; never more than the store accepts.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::big_or_none))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_max: Option<Big>,
}

/// A file or a folder to import.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportPath {
    /// The absolute path.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub path: PathBuf,
    /// The name of the path in notes, errors and the result. Default: the path.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
}
