//! Cleanups, for admins.

// tidy: one operation

use axum::extract::State;
use axum::response::Response;
use milepost_api::calls::Retain;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::call::{OperationRequest, answered, own_route};
use crate::error::ApiError;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(own_route::<Retain, _, _>(retain))
}

async fn retain(
    State(app): State<App>,
    requested: OperationRequest<Retain>,
) -> Result<Response, ApiError> {
    requested.caller.caller().is_admin("retention is for admins")?;
    if requested.call.body.backup {
        app.options.check_backups()?;
    }
    answered(&app, requested).await
}
