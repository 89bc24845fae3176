//! Verification and retention.

// Utoipa describes this name as an object of any fields.
use milepost_codec::Json as Object;

use crate::call::call;
use crate::{RetentionForm, RetentionRequest, VerifyForm, VerifyRequest};

call! {
    /// Returns the heads of the store, to keep elsewhere and verify against later.
    Anchor {
    }
    "anchor" of "maintenance": list get "/v1/anchor"
        -> (Object) "As the command `anchor` prints it"
}

call! {
    /// Verifies the store or one task: every hash, and both copies of every event.
    Verify {
        optional body: VerifyRequest,
    }
    "verify" of "maintenance": change post "/v1/verify"
        -> (VerifyForm) "Also where there are faults: `ok` says so",
        403,
        500,
        504 "It takes longer than a request may"
}

call! {
    /// Returns the effects of a cleanup without changing anything.
    PlanRetention {
        body: RetentionRequest,
    }
    "plan_retention" of "maintenance": read post "/v1/retention/plan" -> (RetentionForm),
        403,
        504 "It takes longer than a request may"
}

call! {
    /// Removes old checkpoints, and the events that become unneeded.
    Retain {
        body: RetentionRequest,
    }
    "retain" of "maintenance": change post "/v1/retention"
        -> (RetentionForm) "Also where tasks failed: each says so",
        403,
        504 "It takes longer than a request may, and goes on"
}
