//! Plans of restores and undos, which first reserve the memory of two states.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use milepost::{Point, Result};
use milepost_api::calls::{PlanRestore, PlanUndo};
use milepost_service::View;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::auth::Caller;
use crate::budget::Shares;
use crate::call::{OperationRequest, answered, own_route};
use crate::error::ApiError;
use crate::states;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(own_route::<PlanRestore, _, _>(plan_restore)).routes(own_route::<
        PlanUndo,
        _,
        _,
    >(
        plan_undo
    ))
}

/// Reserves the memory of the states at a point and at the head of its task.
async fn reserve(
    app: &App,
    shares: &Shares,
    caller: &Caller,
    to: impl FnOnce(&View<'_>) -> Result<Point> + Send + 'static,
) -> std::result::Result<(), ApiError> {
    let points = app.view(caller, move |view| {
        let to = to(view)?;
        Ok([view.present(&to)?, to])
    });
    // The plan reports an address or an undo that is not valid.
    if let Ok(points) = points.await {
        drop(states::two(app, shares, caller, points).await?);
    }
    Ok(())
}

async fn plan_restore(
    State(app): State<App>,
    Extension(shares): Extension<Shares>,
    requested: OperationRequest<PlanRestore>,
) -> std::result::Result<Response, ApiError> {
    let to = requested.call.body.to.clone();
    reserve(&app, &shares, requested.caller.caller(), move |view| view.point(&to)).await?;
    answered(&app, requested).await
}

async fn plan_undo(
    State(app): State<App>,
    Extension(shares): Extension<Shares>,
    requested: OperationRequest<PlanUndo>,
) -> std::result::Result<Response, ApiError> {
    let task = requested.call.task.clone();
    reserve(&app, &shares, requested.caller.caller(), move |view| view.undo(&task).target())
        .await?;
    answered(&app, requested).await
}
