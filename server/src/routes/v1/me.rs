//! The caller and the service.

use axum::Json;
use axum::extract::State;
use milepost_api::{Big, LimitsForm, MeForm, StoreIdForm, micros};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::summaries::SUMMARIES_MAX;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{Nothing, Query};
use milepost_service::operations::{ROWS, TURNS};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(me))
}

/// Returns the caller and the service.
#[utoipa::path(
    get,
    path = "/v1/me",
    operation_id = "me",
    tag = "store",
    responses(
        (status = 200, body = MeForm),
        (status = 400),
        (status = 401),
    ),
)]
async fn me(
    State(app): State<App>,
    caller: Caller,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Json<MeForm>, ApiError> {
    let most = |items: usize| u32::try_from(items).unwrap_or(u32::MAX);
    let engine = app.engine();
    let store = engine.store();
    let form = MeForm {
        user: caller.user.to_string(),
        admin: caller.is_admin("").is_ok(),
        read_only: caller.limits.read_only || app.options.read_only,
        task: caller.limits.task.clone(),
        expires: caller.expires_us.map(micros),
        store: StoreIdForm { id: store.id().to_string(), keyed: store.key_id().is_some() },
        version: env!("CARGO_PKG_VERSION").into(),
        limits: LimitsForm {
            body: Big(app.options.body as u64),
            rows: most(ROWS.1),
            turns: most(TURNS.1),
            summaries: most(SUMMARIES_MAX),
        },
    };
    Ok(Json(form))
}
