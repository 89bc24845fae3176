//! Blame and bisect, which first reserve the memory of two states.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use milepost::query::Condition;
use milepost_api::calls::{Bisect, Blame};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::auth::Caller;
use crate::budget::Shares;
use crate::call::{OperationRequest, answered_with_tag, own_route};
use crate::error::ApiError;
use crate::states;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(own_route::<Bisect, _, _>(bisect))
        .routes(own_route::<Blame, _, _>(blame))
}

/// Reserves the memory of the states before and after the event that is found.
async fn reserve(
    app: &App,
    shares: &Shares,
    caller: &Caller,
    address: &str,
) -> Result<(), ApiError> {
    let address = address.to_owned();
    let point = app.view(caller, move |view| Ok(view.point(&address)?)).await?;
    drop(states::two(app, shares, caller, [point.clone(), point]).await?);
    Ok(())
}

async fn bisect(
    State(app): State<App>,
    Extension(shares): Extension<Shares>,
    requested: OperationRequest<Bisect>,
) -> Result<Response, ApiError> {
    requested.call.query.when.parse::<Condition>()?;
    reserve(&app, &shares, requested.caller.caller(), &requested.call.address).await?;
    answered_with_tag(&app, requested).await
}

async fn blame(
    State(app): State<App>,
    Extension(shares): Extension<Shares>,
    requested: OperationRequest<Blame>,
) -> Result<Response, ApiError> {
    reserve(&app, &shares, requested.caller.caller(), &requested.call.address).await?;
    answered_with_tag(&app, requested).await
}
