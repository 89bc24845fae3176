//! `/api/v0/checkpoint/direct`: cleanup and statistics, as the seed has them. A thread is a task.

mod cleanup;
mod stats;

use axum::http::StatusCode;
use milepost::{Engine, ErrorKind};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Caller;
use crate::error::ApiError;
use crate::server::App;

/// The most bytes of a thread's id, and of a user's.
const ID_MAX: usize = 256;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(cleanup::cleanup)).routes(routes!(stats::stats))
}

/// The envelope of what went wrong, and in `data` why.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DirectError)]
struct WrongForm {
    code: u16,
    success: bool,
    message: String,
    #[schema(value_type = Object)]
    data: (),
}

/// The envelope of what went well.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DirectAnswer)]
pub(crate) struct Answer<T> {
    code: u16,
    success: bool,
    message: String,
    data: T,
}

impl<T> Answer<T> {
    fn well(message: impl Into<String>, data: T) -> Self {
        Self { code: 200, success: true, message: message.into(), data }
    }
}

/// Checks what is to be a thread's id.
fn check_thread(id: &str) -> Result<(), ApiError> {
    let checked = check_id(id, "thread_id");
    checked.map_err(|text| ApiError::Named("INVALID_THREAD_ID", StatusCode::BAD_REQUEST, text))
}

/// What is wrong with an id.
fn check_id(id: &str, name: &str) -> Result<(), String> {
    match id.is_empty() || id.len() > ID_MAX || id.chars().any(char::is_control) {
        true => Err(format!("{name} has 1 to {ID_MAX} bytes and no control characters")),
        false => Ok(()),
    }
}

/// Checks what is to be a user that somebody may ask about.
fn check_user(caller: &Caller, user: &str) -> Result<(), ApiError> {
    check_id(user, "user_id").map_err(ApiError::Invalid)?;
    match caller.sees() {
        Some(own) if own != user => Err(no_user(user)),
        _ => Ok(()),
    }
}

/// That a user has a task: there is no list of users but that.
fn has_thread(engine: &Engine, user: &str) -> Result<(), ApiError> {
    let query = milepost::TaskQuery {
        user: Some(user.to_owned()),
        limit: Some(1),
        ..milepost::TaskQuery::default()
    };
    match engine.tasks(&query)?.items.is_empty() {
        true => Err(no_user(user)),
        false => Ok(()),
    }
}

fn no_user(user: &str) -> ApiError {
    let text = format!("there is no user `{user}` with a thread");
    ApiError::Named("USER_NOT_FOUND", StatusCode::NOT_FOUND, text)
}

/// What is said of a thread that is not there, or somebody else's.
fn no_thread(error: milepost::Error) -> ApiError {
    match error.kind() {
        ErrorKind::NotFound => {
            ApiError::Named("INVALID_THREAD_ID", StatusCode::NOT_FOUND, error.to_string())
        }
        _ => error.into(),
    }
}
