//! Events in lineages that open at a point and do not become active.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use milepost_api::{BranchedForm, WriteProblems};
use milepost_service::forms;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::append::{Events, created};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{PathName, Query};
use crate::forms::EventRequest;
use crate::write_context::{WriteContext, refused};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(append_branch))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct BranchQuery {
    /// The purpose of the lineage.
    description: Option<String>,
}

/// Opens a new lineage at a point and appends events to it, in one commit. The active lineage stays
/// the same.
#[utoipa::path(
    post,
    path = "/v1/points/{address}/events",
    operation_id = "append_branch",
    tag = "points",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        BranchQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "With the same key one lineage \
            is opened at the point"),
    ),
    request_body(content(
        (EventRequest = "application/json"),
        (String = "application/x-ndjson"),
    )),
    responses(
        (status = 200, description = "It had been opened before, under the same \
            key", body = BranchedForm),
        (status = 201, body = BranchedForm),
        WriteProblems,
        (status = 409, description = "The key was used for other events"),
        (status = 500, description = "What is before the point is damaged"),
        (status = 503, description = "The store cannot answer, or a restore of the task has not \
            ended"),
    ),
)]
async fn append_branch(
    State(app): State<App>,
    context: WriteContext,
    PathName(address): PathName,
    Query(query): Query<BranchQuery>,
    events: Events,
) -> Result<(StatusCode, Json<BranchedForm>), ApiError> {
    let context = context.onto_any_head()?;
    let caller = context.caller.clone();
    let branched = app.view(&caller, move |view| {
        let append = context.conditioned(events.append()?);
        let point = view.point(&address)?;
        view.branch(&point)
            .description(query.description.as_deref())
            .append(append)
            .map_err(refused)
    });
    let (lineage, appended) = branched.await?;
    let form = BranchedForm { lineage: lineage.id(), appended: forms::appended(&appended) };
    Ok((created(&appended), Json(form)))
}
