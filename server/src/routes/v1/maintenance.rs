//! Verification and retention, for admins.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use milepost::integrity::Anchor;
use milepost::retention::Policy;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{Nothing, OptionalJson, Query, Required};
use crate::forms::{Big, Problem, RetentionForm, VerifyForm, big_or_none};
use crate::negotiate::JSON;
use crate::view::View;
use crate::write_context::WriteContext;

/// The maximum of `keep_count`.
const KEEP_MAX: usize = 1_000_000;

/// Errors for callers who are no admins.
const VERIFY: &str = "verification is for admins";
const ANCHOR: &str = "anchors are for admins";
const RETENTION: &str = "retention is for admins";

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(anchor))
        .routes(routes!(verify))
        .routes(routes!(plan))
        .routes(routes!(retain))
}

/// Returns the heads of the store, to keep elsewhere and verify against later.
#[utoipa::path(
    get,
    path = "/v1/anchor",
    operation_id = "anchor",
    tag = "maintenance",
    responses(
        (status = 200, description = "As `milepost anchor` prints it", body = Object),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn anchor(
    State(app): State<App>,
    caller: Caller,
    Query(Nothing {}): Query<Nothing>,
) -> Result<impl IntoResponse, ApiError> {
    let text = app.work(move |engine| {
        let view = View::of(engine, &caller);
        Ok(view.whole(ANCHOR)?.integrity().anchor()?.to_json())
    });
    Ok(([(header::CONTENT_TYPE, JSON)], text.await?))
}

/// The scope of a verification.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct VerifyAsked {
    /// One task. Default: the whole store.
    #[serde(default, deserialize_with = "crate::read::some_text")]
    task: Option<String>,
    /// Also fold every lineage from its beginning and compare the result with the snapshots.
    #[serde(default)]
    states: bool,
    /// An earlier anchor, to compare the whole store with.
    #[schema(value_type = Option<Object>)]
    anchor: Option<milepost::Json>,
}

/// Verifies the store or one task: every hash, and both copies of every event.
#[utoipa::path(
    post,
    path = "/v1/verify",
    operation_id = "verify",
    tag = "maintenance",
    request_body = Option<VerifyAsked>,
    responses(
        (status = 200, description = "Also where there are faults: `ok` says \
            so", body = VerifyForm),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 500, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
        (status = 504, description = "It takes longer than a request \
            may", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn verify(
    State(app): State<App>,
    caller: Caller,
    OptionalJson(asked): OptionalJson<VerifyAsked>,
) -> Result<Json<VerifyForm>, ApiError> {
    let verify = move |view: &View<'_>| {
        let engine = view.whole(VERIFY)?;
        let (task, anchor) = (asked.task.as_deref(), asked.anchor.as_ref());
        let anchor = anchor.map(|anchor| anchor.text().parse::<Anchor>());
        // An invalid anchor is the caller's error, not damage of the store.
        let anchor = anchor.transpose().map_err(|error| ApiError::Invalid(error.to_string()))?;
        if task.is_some() && anchor.is_some() {
            return Err(ApiError::Invalid("an anchor is of the whole store, not of a task".into()));
        }
        let mut report = engine.integrity().verify(task, &mut |_, _| {})?;
        if let Some(anchor) = &anchor {
            report.faults.extend(engine.integrity().verify_anchor(anchor)?);
        }
        if asked.states {
            report.faults.extend(engine.integrity().verify_states(task)?);
        }
        Ok(Json(report.into()))
    };
    app.work(move |engine| verify(&View::of(engine, &caller))).await
}

/// A retention policy, and its scope.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RetentionAsked {
    /// Keep this many of the newest checkpoints of each task. `keep_count` or
    /// `younger_than_seconds` is required.
    #[schema(maximum = 1_000_000)]
    keep_count: Option<usize>,
    /// Also keep checkpoints younger than this.
    #[schema(schema_with = big_or_none)]
    younger_than_seconds: Option<Big>,
    /// Keep the data to undo this many of the last restores. Default: 3.
    #[schema(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    undo: Option<u32>,
    /// Remove marks only, and keep all events.
    #[serde(default)]
    marks_only: bool,
    /// Also remove lineages that no kept checkpoint and no undo needs. Default: keep them.
    #[serde(default)]
    drop_lineages: bool,
    /// Only tasks of this user.
    #[serde(default, deserialize_with = "crate::read::some_text")]
    user: Option<String>,
    /// Only this task.
    #[serde(default, deserialize_with = "crate::read::some_text")]
    task: Option<String>,
}

impl RetentionAsked {
    fn policy(self) -> Result<Policy, ApiError> {
        if self.keep_count.is_none() && self.younger_than_seconds.is_none() {
            let text = "a policy says what is kept: send `keep_count`, `younger_than_seconds` or \
                both, as in {\"keep_count\": 10}";
            return Err(ApiError::Invalid(text.into()));
        }
        let mut policy =
            Policy::new().marks_only(self.marks_only).keep_lineages(!self.drop_lineages);
        if let Some(Big(seconds)) = self.younger_than_seconds {
            policy = policy.younger_than(Duration::from_secs(seconds));
        }
        match self.keep_count {
            Some(keep) if keep > KEEP_MAX => {
                let text = format!("keep_count is 0 to {KEEP_MAX}, not {keep}");
                return Err(ApiError::Invalid(text));
            }
            Some(keep) => policy = policy.keep(keep),
            None => {}
        }
        if let Some(undo) = self.undo {
            policy = policy.undo(undo);
        }
        match (self.user, self.task) {
            (Some(_), Some(_)) => Err(ApiError::Invalid("name a user or a task, not both".into())),
            (Some(user), None) => Ok(policy.user(user)),
            (None, Some(task)) => Ok(policy.task(task)),
            (None, None) => Ok(policy),
        }
    }
}

/// Returns the effects of a cleanup without changing anything.
#[utoipa::path(
    post,
    path = "/v1/retention/plan",
    operation_id = "plan_retention",
    tag = "maintenance",
    request_body = RetentionAsked,
    responses(
        (status = 200, body = RetentionForm),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
        (status = 504, description = "It takes longer than a request \
            may", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn plan(
    State(app): State<App>,
    caller: Caller,
    Required(asked): Required<RetentionAsked>,
) -> Result<Json<RetentionForm>, ApiError> {
    caller.is_admin(RETENTION)?;
    let policy = asked.policy()?;
    let plan = move |view: &View<'_>| {
        let engine = view.whole(RETENTION)?;
        let plan = engine.retention().plan(&policy)?;
        // Unreadable captures do not block the rest of the plan.
        let captures = engine.retention().plan_captures(&plan).ok();
        Ok(Json(RetentionForm::planned(plan, captures)))
    };
    app.work(move |engine| plan(&View::of(engine, &caller))).await
}

/// Removes old checkpoints, and the events that become unneeded.
#[utoipa::path(
    post,
    path = "/v1/retention",
    operation_id = "retain",
    tag = "maintenance",
    request_body = RetentionAsked,
    responses(
        (status = 200, description = "Also where tasks failed: each says so", body = RetentionForm),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
        (status = 504, description = "It takes longer than a request may, and goes \
            on", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn retain(
    State(app): State<App>,
    context: WriteContext,
    Required(asked): Required<RetentionAsked>,
) -> Result<Json<RetentionForm>, ApiError> {
    let caller = context.unconditional()?.caller;
    caller.is_admin(RETENTION)?;
    let policy = asked.policy()?;
    let retain = move |view: &View<'_>| {
        let engine = view.whole(RETENTION)?;
        let plan = engine.retention().plan(&policy)?;
        let report = engine.retention().apply(&plan, &mut |_, _| {})?;
        Ok(Json(RetentionForm::done(plan, report)))
    };
    app.work(move |engine| retain(&View::of(engine, &caller))).await
}
