//! Restores, and the folders that they may go to.

use crate::call::call;
use crate::{FoldersForm, RestoredForm, SwitchAsked};

call! {
    /// Switches a task to one of its lineages. Opens none, and leaves files as they are. An undo
    /// returns to the lineage before.
    Switch {
        /// The task's id
        task,
        body: SwitchAsked,
    }
    "switch" of "restores": conditional put "/v1/tasks/{task}/active" -> (RestoredForm),
        409 "The key was used for something else",
        412 "The head is elsewhere",
        503 "The store cannot answer, or a restore of the task has not ended";
        head "The expected head of the lineage that the task leaves, in quotes",
        key "Switched once under this key"
}

call! {
    /// Redoes the last undone restore or switch of a task: activates the lineage that the undo
    /// left.
    Redo {
        /// The task's id
        task,
    }
    "redo" of "restores": conditional post "/v1/tasks/{task}/redo" -> (RestoredForm),
        400 "There is no undo to take back",
        409 "The undone restore took files back",
        412 "The head is elsewhere",
        503 "The store cannot answer, or a restore of the task has not ended";
        head "The expected head of the lineage that the task leaves, in quotes",
        key "Redone once under this key"
}

call! {
    /// Returns the folders that were captured in the history of a task, that of the newest capture
    /// first: at most 100.
    Folders {
        /// The task's id
        task,
    }
    "folders" of "files": long get "/v1/tasks/{task}/folders" -> (FoldersForm),
        403 "Folders of the service's machine are for admins"
}
