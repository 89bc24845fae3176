//! Verification and retention, for admins.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use milepost::integrity::Anchor;
use milepost_api::WriteProblems;
use milepost_service::{forms, operations};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{Nothing, OptionalJson, Query, Required};
use crate::forms::{RetentionAsked, RetentionForm, VerifyAsked, VerifyForm};
use crate::negotiate::JSON;
use crate::write_context::WriteContext;

/// Error for callers who are no admins.
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
        (status = 401),
        (status = 403),
    ),
)]
async fn anchor(
    State(app): State<App>,
    caller: Caller,
    Query(Nothing {}): Query<Nothing>,
) -> Result<impl IntoResponse, ApiError> {
    caller.is_admin("anchors are for admins")?;
    let text = app.work(|engine| Ok(engine.integrity().anchor()?.to_json())).await?;
    Ok(([(header::CONTENT_TYPE, JSON)], text))
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
        WriteProblems,
        (status = 403),
        (status = 500),
        (status = 504, description = "It takes longer than a request may"),
    ),
)]
async fn verify(
    State(app): State<App>,
    caller: Caller,
    OptionalJson(asked): OptionalJson<VerifyAsked>,
) -> Result<Json<VerifyForm>, ApiError> {
    caller.is_admin("verification is for admins")?;
    app.work(move |engine| {
        let (task, anchor) = (asked.task.as_deref(), asked.anchor.as_ref());
        let anchor = anchor.map(|anchor| anchor.text().parse::<Anchor>());
        // An invalid anchor is the caller's error, not damage of the store.
        let anchor = anchor.transpose().map_err(|error| ApiError::Invalid(error.to_string()))?;
        if task.is_some() && anchor.is_some() {
            return Err(ApiError::Invalid("an anchor is of the whole store, not of a task".into()));
        }
        let VerifyAsked { states, acknowledge, .. } = asked;
        let anchor = anchor.as_ref();
        Ok(Json(operations::verify(engine, task, states, anchor, acknowledge, &mut |_, _| {})?))
    })
    .await
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
        WriteProblems,
        (status = 403),
        (status = 504, description = "It takes longer than a request may"),
    ),
)]
async fn plan(
    State(app): State<App>,
    caller: Caller,
    Required(asked): Required<RetentionAsked>,
) -> Result<Json<RetentionForm>, ApiError> {
    caller.is_admin(RETENTION)?;
    app.work(move |engine| {
        let policy = forms::policy(asked, engine)?;
        let plan = engine.retention().plan(&policy)?;
        // Unreadable captures do not block the rest of the plan.
        let captures = engine.retention().plan_captures(&plan).ok();
        Ok(Json(forms::planned_cleanup(plan, captures)))
    })
    .await
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
        WriteProblems,
        (status = 403),
        (status = 504, description = "It takes longer than a request may, and goes on"),
    ),
)]
async fn retain(
    State(app): State<App>,
    context: WriteContext,
    Required(asked): Required<RetentionAsked>,
) -> Result<Json<RetentionForm>, ApiError> {
    let caller = context.unconditional()?.caller;
    caller.is_admin(RETENTION)?;
    let backup = asked.backup;
    let backups = app.options.backups.clone();
    app.work(move |engine| {
        let policy = forms::policy(asked, engine)?;
        let plan = engine.retention().plan(&policy)?;
        let backup = backup.then(|| backups.make(engine, &plan)).transpose()?.flatten();
        let report = engine.retention().apply(&plan, &mut |_, _| {})?;
        Ok(Json(forms::done_cleanup(plan, report, backup)))
    })
    .await
}
