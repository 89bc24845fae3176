//! Restores, and the folders that they may go to.

use crate::call::call;
use crate::{
    AcceptedConditions, FoldersForm, RestorePlanForm, RestoreRequest, RestoredForm, SwitchRequest,
    UndoFolderRequest,
};

call! {
    /// Switches a task to one of its lineages. Opens none, and leaves files as they are. An undo
    /// returns to the lineage before.
    Switch {
        /// The task's id
        task,
        body: SwitchRequest,
    }
    "switch" of "restores": conditional put "/v1/tasks/{task}/active" -> (RestoredForm),
        409 "The key was used for something else",
        412 "The head is elsewhere",
        503 "The store cannot answer, or a restore of the task has not ended";
        head "The expected head of the active lineage, in quotes",
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
        head "The expected head of the active lineage, in quotes",
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

call! {
    /// Returns the effects of a restore without changing anything.
    PlanRestore {
        body: RestoreRequest,
    }
    "plan_restore" of "restores": long post "/v1/restores/plan" -> (RestorePlanForm),
        403 "Files are for admins",
        500 "What is before the point is damaged"
}

call! {
    /// Restores a task to a point: opens a new lineage there and activates it.
    Restore {
        body: RestoreRequest,
    }
    "restore" of "restores": conditional post "/v1/restores" -> created (RestoredForm),
        403 "Files are for admins",
        409 "Files conflict, or the key was used for something else",
        412 "The head is elsewhere",
        500 "What is before the point is damaged",
        503 "The store cannot answer, or a restore of the task has not ended";
        head "The expected head of the active lineage, in quotes; of the scope `state`",
        key "Gone back once under this key; of the scope `state`";
        // A plan shows what a restore with files has done.
        takes |restore: &Restore| AcceptedConditions::all_if(!restore.body.has_files())
}

call! {
    /// Returns the effects of an undo without changing anything: without a folder, on the state.
    PlanUndo {
        /// The task's id
        task,
        optional body: UndoFolderRequest,
    }
    "plan_undo" of "restores": long post "/v1/tasks/{task}/undo/plan" -> (RestorePlanForm),
        403 "The last restore took files back, which are for admins",
        500 "What is before the point is damaged"
}

call! {
    /// Undoes the last restore or switch of a task: activates the previous lineage.
    Undo {
        /// The task's id
        task,
        optional body: UndoFolderRequest,
    }
    "undo" of "restores": conditional post "/v1/tasks/{task}/undo" -> (RestoredForm),
        400 "There is no restore to undo",
        403 "The last restore took files back, which are for admins",
        409 "The last restore took files back",
        412 "The head is elsewhere",
        503 "The store cannot answer, or a restore of the task has not ended";
        head "The expected head of the active lineage, in quotes",
        key "Undone once under this key";
        takes |undo: &Undo| AcceptedConditions::all_if(!undo.body.has_files())
}
