//! Runs: their control, guidance and artifacts.

use milepost_codec::Json;

use crate::call::call;
use crate::{AppendedForm, ControlForm, ControlRequest, Fields, GuidanceRequest};

/// Artifacts by name. Utoipa describes this name as an object of any fields.
type Object = Fields<Json>;

call! {
    /// Begins, pauses, resumes, stops or ends a run.
    Control {
        /// The task's id
        task,
        body: ControlRequest,
    }
    "control" of "runs": conditional post "/v1/tasks/{task}/control" -> (ControlForm),
        409 "There is no such change, or the key was used for other events",
        412 "The head is another one";
        head "The expected head, as in \"12\"",
        key "With the same key it is changed once";
        new_head "The new head, as `If-Match` takes it"
}

call! {
    /// Gives guidance.
    Guide {
        /// The task's id
        task,
        body: GuidanceRequest,
    }
    "guide" of "runs": conditional post "/v1/tasks/{task}/guidance" -> created (AppendedForm),
        409 "The key was used for other events",
        412 "The head is another one";
        head "The expected head, as in \"12\"",
        key "With the same key it is given once";
        new_head "The new head, as `If-Match` takes it";
        repeated "It had been given before, under the same key"
}

call! {
    /// Sets artifacts by name, and replaces their old values. `null` removes one.
    EditArtifacts {
        /// The task's id
        task,
        body: Object,
    }
    "edit_artifacts" of "runs": conditional patch "/v1/tasks/{task}/artifacts" -> (AppendedForm),
        409 "The key was used for other events",
        412 "The head is another one";
        head "The expected head, as in \"12\"",
        key "With the same key they are edited once";
        new_head "The new head, as `If-Match` takes it"
}
