//! `/api/v0/checkpoint/direct`: cleanup and statistics, in the form of an existing API. A thread is
//! a task.

mod cleanup;
mod stats;

use axum::http::StatusCode;
use milepost::{Engine, ErrorKind};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;

/// The maximum length in bytes of a thread's and of a user's id.
const ID_MAX: usize = 256;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(cleanup::cleanup)).routes(routes!(stats::stats))
}

/// The envelope of an error; `data` has the cause.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DirectError)]
struct WrongForm {
    code: u16,
    success: bool,
    message: String,
    #[schema(value_type = Object)]
    data: (),
}

/// The envelope of a successful answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DirectAnswer)]
pub(crate) struct DirectAnswer<T> {
    code: u16,
    success: bool,
    message: String,
    data: T,
}

impl<T> DirectAnswer<T> {
    fn well(message: impl Into<String>, data: T) -> Self {
        Self { code: 200, success: true, message: message.into(), data }
    }
}

/// Checks a thread's id.
fn check_thread(id: &str) -> Result<(), ApiError> {
    let checked = check_id(id, "thread_id");
    checked.map_err(|text| ApiError::Named("INVALID_THREAD_ID", StatusCode::BAD_REQUEST, text))
}

/// Checks an id, and returns the reason if it is invalid.
fn check_id(id: &str, name: &str) -> Result<(), String> {
    match id.is_empty() || id.len() > ID_MAX || id.chars().any(char::is_control) {
        true => Err(format!("{name} has 1 to {ID_MAX} bytes and no control characters")),
        false => Ok(()),
    }
}

/// Checks a user's id, and that the caller may ask about the user.
fn check_user(caller: &Caller, user: &str) -> Result<(), ApiError> {
    check_id(user, "user_id").map_err(ApiError::Invalid)?;
    match caller.sees() {
        Some(own) if own != user => Err(no_user(user)),
        _ => Ok(()),
    }
}

/// Checks that a user has a task: the store has no other list of users.
fn has_thread(engine: &Engine, user: &str) -> Result<(), ApiError> {
    let query = milepost::query::TaskQuery {
        user: Some(user.to_owned()),
        limit: Some(1),
        ..milepost::query::TaskQuery::default()
    };
    match engine.query().tasks(&query)?.items.is_empty() {
        true => Err(no_user(user)),
        false => Ok(()),
    }
}

fn no_user(user: &str) -> ApiError {
    let text = format!("there is no user `{user}` with a thread");
    ApiError::Named("USER_NOT_FOUND", StatusCode::NOT_FOUND, text)
}

/// Converts the error for a thread that does not exist or belongs to another user.
fn no_thread(error: milepost::Error) -> ApiError {
    match error.kind() {
        ErrorKind::NotFound => {
            ApiError::Named("INVALID_THREAD_ID", StatusCode::NOT_FOUND, error.to_string())
        }
        _ => error.into(),
    }
}
