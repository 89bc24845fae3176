//! Run control, guidance and artifacts.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use milepost_api::Described;
use milepost_api::calls::{Control, EditArtifacts, Guide};
use milepost_service::operations::{Appends, change_control};
use milepost_service::{View, forms};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::append::created;
use crate::app::App;
use crate::append_task::{self, Target};
use crate::call::{OperationRequest, RequestCaller, own_route};
use crate::error::ApiError;
use crate::forms::ControlForm;
use crate::write_context::{WriteContext, answer, refused};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(own_route::<Control, _, _>(control))
        .routes(append_route::<Guide>())
        .routes(append_route::<EditArtifacts>())
}

/// Changes the control, and has the task watched for automatic checkpoints.
async fn control(
    State(app): State<App>,
    OperationRequest { caller, call, .. }: OperationRequest<Control>,
) -> Result<Response, ApiError> {
    let context = changing(caller)?;
    let checkpoints = app.options.checkpoints.clone();
    let (to, caller) = (call.body.to, context.caller.clone());
    let change = move |view: &View<'_>| {
        let task = view.task(&call.task)?;
        if let Some(checkpoints) = checkpoints {
            checkpoints.watch(&task);
        }
        let changed = change_control(&context.conditions, &task, &call.body);
        changed.map_err(refused)
    };
    let changed = app.view(&caller, change).await?;
    let form = ControlForm { control: to, repeated: changed.repeated };
    Ok(answer(StatusCode::OK, &changed, form))
}

/// Returns the route of an operation that appends, as an append without a thread if it is short.
fn append_route<C: Appends + Described>() -> UtoipaMethodRouter<App> {
    let append = |State(app): State<App>,
                  OperationRequest { caller, call, .. }: OperationRequest<C>| async move {
        let (target, bytes) = (Target::of(call.task().to_owned()), call.bytes());
        let append = move || Ok(call.append()?);
        let appended = append_task::append(&app, changing(caller)?, target, bytes, append).await?;
        let status = match C::STATUS {
            201 => created(&appended),
            _ => StatusCode::OK,
        };
        Ok::<_, ApiError>(answer(status, &appended, forms::appended(&appended)))
    };
    own_route::<C, _, _>(append)
}

/// Returns the context of a change.
fn changing(asks: RequestCaller) -> Result<WriteContext, ApiError> {
    match asks {
        RequestCaller::Change(context) => Ok(context),
        RequestCaller::Read(_) => Err(ApiError::Bug),
    }
}
