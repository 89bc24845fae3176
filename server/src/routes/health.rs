//! Whether the service answers, and whether the store takes appends.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::server::App;

pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

pub(crate) async fn ready(State(app): State<App>) -> Response {
    match app.engine().metrics().poisoned {
        false => "ready\n".into_response(),
        true => {
            let why = "a write to the store failed: restart the service\n";
            (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
        }
    }
}
