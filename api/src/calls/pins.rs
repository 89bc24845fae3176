//! Pinned checkpoints.

// tidy: one family

use crate::call::call;
use crate::{Listed, PinForm, PinRequest};

call! {
    /// Lists all pinned checkpoints of a task.
    Pins {
        /// The task's id
        task,
    }
    "pins" of "checkpoints": read get "/v1/tasks/{task}/pins" -> (Listed<PinForm>)
}

call! {
    /// Pins a checkpoint: no cleanup removes it or the events it needs.
    Pin {
        /// The checkpoint's id, or a unique prefix of 8 or more digits
        id,
        optional body: PinRequest,
    }
    "pin" of "checkpoints": change put "/v1/checkpoints/{id}/pin" -> (PinForm)
}

call! {
    /// Removes the pin of a checkpoint, if there is one.
    Unpin {
        /// The checkpoint's id, or a unique prefix of 8 or more digits
        id,
    }
    "unpin" of "checkpoints": change delete "/v1/checkpoints/{id}/pin" -> () "It is not pinned"
}
