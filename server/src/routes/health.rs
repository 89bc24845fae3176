//! Whether the service answers, and whether the store takes appends.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use milepost::{ErrorKind, TaskQuery};
use tracing::error;

use crate::server::App;
use crate::wrong::Wrong;

pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

pub(crate) async fn ready(State(app): State<App>) -> Response {
    if app.engine().metrics().poisoned {
        return not_ready("a write to the store failed: restart the service");
    }
    // A read tells whether it is open; a store where that fails takes no append, either.
    let one = TaskQuery {
        limit: Some(1),
        ..TaskQuery::default()
    };
    match app.work(move |engine| Ok(engine.tasks(&one)?)).await {
        Ok(_) => "ready\n".into_response(),
        // Whoever asks may be anybody: places are in the log.
        Err(Wrong::Engine(ErrorKind::Unavailable, ..)) => {
            not_ready("the store is closed, or the disk fails")
        }
        Err(wrong) => {
            error!(target: "milepost::http", ?wrong, "not ready");
            not_ready("the store cannot be read")
        }
    }
}

fn not_ready(why: &str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response()
}
