//! Tasks and their lineages.

use serde::{Deserialize, Serialize};

use crate::call::call;
use crate::{AcceptedConditions, LineageForm, Listed, SummaryForm, TaskForm, TaskRequest};

/// Filters for a list of tasks.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TaskQuery {
    /// The owner, for admins. Default: the caller.
    pub user: Option<String>,
    /// Only tasks whose id begins with this text, in the order of their ids.
    pub prefix: Option<String>,
    /// The page size: 1 to 100, default 20.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 100))]
    pub limit: Option<usize>,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
}

call! {
    /// Lists tasks, newest first, or those of a prefix by id.
    Tasks {
        query: TaskQuery,
    }
    "tasks" of "tasks": list get "/v1/tasks" -> (Listed<TaskForm>)
}

call! {
    /// Returns a task.
    Task {
        /// The task's id
        task,
    }
    "task" of "tasks": read get "/v1/tasks/{task}" -> (TaskForm)
}

call! {
    /// Returns a task with what happened in it, as in the list of summaries.
    Summary {
        /// The task's id
        task,
    }
    "summary" of "tasks": long get "/v1/tasks/{task}/summary" -> (SummaryForm)
}

call! {
    /// Lists the lineages of a task, in the order of their creation.
    Lineages {
        /// The task's id
        task,
    }
    "lineages" of "tasks": read get "/v1/tasks/{task}/lineages" -> (Listed<LineageForm>)
}

call! {
    /// Starts a task, or copies one.
    StartTask {
        body: TaskRequest,
    }
    "start_task" of "tasks": conditional post "/v1/tasks" -> created (TaskForm),
        403,
        404 "There is no task to copy",
        409 "There is one of this id, whosever it is";
        key "Started once under this key";
        at "/v1/tasks";
        takes |_| AcceptedConditions { key: true, head: false }
}

call! {
    /// Deletes a task permanently.
    DeleteTask {
        /// The task's id
        task,
    }
    "delete_task" of "tasks": change delete "/v1/tasks/{task}" -> () "It is deleted",
        503 "The store cannot answer, or a restore of it has not ended"
}
