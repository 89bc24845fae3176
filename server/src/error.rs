//! What went wrong, and how each family of routes says it. A handler gives the error; the layer
//! around all routes knows the family by the path, and writes it.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use milepost::{Detail, Error, ErrorKind};
use serde_json::json;

use crate::forms::{Big, Problem};

/// Where the kinds of problems are named.
const PROBLEMS: &str = "https://milepost.dev/problems/";

/// What went wrong.
#[derive(Debug, Clone)]
pub(crate) enum ApiError {
    /// The request is none.
    Invalid(String),
    /// Caller asks is not known.
    Unauthorized,
    /// Caller asks may not.
    Forbidden(&'static str),
    /// It is not there, or somebody else's.
    NotFound(String),
    /// The path has no such method.
    Method,
    /// None of these forms of the answer is wanted.
    NotAcceptable(&'static [&'static str]),
    TooLarge(usize),
    /// What is asked for would be: this is to be done instead.
    TooMuch(&'static str),
    MediaType(&'static str),
    /// The body is packed in another way than these.
    Encoding(&'static str),
    /// Nothing came of the body for too long.
    BodyTimeout,
    TooMany(usize),
    /// More requests a second than the token may.
    TooFast(u32),
    Timeout,
    /// The store's disk has less left than is kept free.
    Full(u64),
    /// A name that this family gives it itself: see `docs/HTTP.md`.
    Named(&'static str, StatusCode, String),
    /// The head is not the one that `If-Match` names, but this.
    Precondition(String, u64),
    /// What the engine says.
    Engine(ErrorKind, String, Option<u64>),
    /// A bug.
    Bug,
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let head = match error.detail() {
            Some(Detail::Head(head)) => Some(head.next),
            _ => None,
        };
        match error.kind() {
            ErrorKind::NotFound => Self::NotFound(error.to_string()),
            ErrorKind::Invalid => Self::Invalid(error.to_string()),
            kind => Self::Engine(kind, error.to_string(), head),
        }
    }
}

/// How errors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// `/v1` and what belongs to no other: problem details.
    Problem,
    /// `/api/v1`: an envelope of `data` or `error`.
    Envelope,
    /// `/api/v0`: code, success, message, data.
    Direct,
}

impl Family {
    pub(crate) fn of(path: &str) -> Self {
        let is = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if is("/api/v1") {
            Self::Envelope
        } else if is("/api/v0") {
            Self::Direct
        } else {
            Self::Problem
        }
    }
}

/// A family's name for what went wrong, and a title.
struct Names {
    status: StatusCode,
    problem: &'static str,
    title: &'static str,
    envelope: &'static str,
    direct: &'static str,
}

impl ApiError {
    fn names(&self) -> Names {
        let (status, problem, title, envelope, direct) = match self {
            Self::Invalid(_) => {
                (400, "invalid", "The request is not valid", "VALIDATION_ERROR", "INVALID_REQUEST")
            }
            Self::Unauthorized => {
                (401, "unauthorized", "A token is needed", "UNAUTHORIZED", "UNAUTHORIZED")
            }
            Self::Forbidden(_) => {
                (403, "forbidden", "The token does not allow this", "FORBIDDEN", "FORBIDDEN")
            }
            Self::NotFound(_) => (404, "not_found", "It is not there", "NOT_FOUND", "NOT_FOUND"),
            Self::Method => (
                405,
                "method_not_allowed",
                "The path has no such method",
                "VALIDATION_ERROR",
                "INVALID_REQUEST",
            ),
            Self::NotAcceptable(_) => (
                406,
                "invalid",
                "The answer has no such form",
                "VALIDATION_ERROR",
                "INVALID_REQUEST",
            ),
            Self::TooLarge(_) => {
                (413, "too_large", "The body is too large", "VALIDATION_ERROR", "INVALID_REQUEST")
            }
            Self::TooMuch(_) => (
                413,
                "too_large",
                "The answer would be too large",
                "VALIDATION_ERROR",
                "INVALID_REQUEST",
            ),
            Self::MediaType(_) => (
                415,
                "media_type",
                "The body is of another type",
                "VALIDATION_ERROR",
                "INVALID_REQUEST",
            ),
            Self::Encoding(_) => (
                415,
                "media_type",
                "The body is packed in another way",
                "VALIDATION_ERROR",
                "INVALID_REQUEST",
            ),
            Self::BodyTimeout => {
                (408, "timeout", "The body took too long", "VALIDATION_ERROR", "INVALID_REQUEST")
            }
            Self::TooFast(_) => {
                (429, "too_many", "Too many requests a second", "RATE_LIMITED", "RATE_LIMITED")
            }
            Self::TooMany(_) => {
                (429, "too_many", "Too many requests are under way", "RATE_LIMITED", "RATE_LIMITED")
            }
            Self::Timeout => {
                (504, "timeout", "The answer took too long", "STORE_UNAVAILABLE", "STORE_ERROR")
            }
            Self::Full(_) => {
                (507, "full", "The store's disk is full", "STORE_UNAVAILABLE", "STORE_ERROR")
            }
            Self::Bug => (500, "bug", "A fault of the service", "INTERNAL_ERROR", "STORE_ERROR"),
            Self::Named(name, status, _) => {
                (status.as_u16(), "invalid", "The request cannot be met", "VALIDATION_ERROR", *name)
            }
            Self::Precondition(..) => {
                (412, "conflict", "The head is another one", "CONFLICT", "CONFLICT")
            }
            Self::Engine(kind, ..) => match kind {
                ErrorKind::Conflict => {
                    (409, "conflict", "Something else came first", "CONFLICT", "CONFLICT")
                }
                ErrorKind::Corrupt => {
                    (500, "corrupt", "The store is damaged", "INTERNAL_ERROR", "STORE_ERROR")
                }
                ErrorKind::Poisoned => (
                    503,
                    "poisoned",
                    "A write to the store failed",
                    "STORE_UNAVAILABLE",
                    "STORE_ERROR",
                ),
                _ => (
                    503,
                    "unavailable",
                    "The store cannot answer",
                    "STORE_UNAVAILABLE",
                    "STORE_ERROR",
                ),
            },
        };
        Names {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            problem,
            title,
            envelope,
            direct,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.names().status
    }

    fn text(&self) -> String {
        match self {
            Self::Invalid(text)
            | Self::NotFound(text)
            | Self::Engine(_, text, _)
            | Self::Precondition(text, _)
            | Self::Named(_, _, text) => text.clone(),
            // One text, whatever is wrong with it.
            Self::Unauthorized => "send a valid token as `Authorization: Bearer TOKEN`".into(),
            Self::Forbidden(text) | Self::TooMuch(text) => (*text).into(),
            Self::Method => "`Allow` says which it answers".into(),
            Self::NotAcceptable(offered) => format!("ask for {}", offered.join(" or ")),
            Self::TooLarge(most) => format!("a body has at most {most} bytes"),
            Self::MediaType(wanted) => format!("the body has to be {wanted}"),
            Self::Encoding(known) => format!("`Content-Encoding` has to be {known}"),
            Self::BodyTimeout => "the request's body did not come".into(),
            Self::TooMany(most) => {
                format!("a token has at most {most} requests under way: wait for answers")
            }
            Self::TooFast(most) => {
                format!("the token may change something {most} times a second: wait")
            }
            Self::Timeout => "it may have been done or not: ask with the same key".into(),
            Self::Full(reserve) => format!(
                "the store's disk has less than {reserve} bytes left: make room, or clean the store up"
            ),
            Self::Bug => "the log of the service says more, under the request's id".into(),
        }
    }

    /// As `/v1` says it. `id`: of the request.
    pub(crate) fn problem(&self, id: &str) -> Problem {
        let names = self.names();
        let head = match self {
            Self::Engine(_, _, head) => head.map(Big),
            Self::Precondition(_, head) => Some(Big(*head)),
            _ => None,
        };
        Problem {
            kind: format!("{PROBLEMS}{}", names.problem),
            title: names.title.into(),
            status: names.status.as_u16(),
            detail: self.text(),
            instance: id.to_owned(),
            head,
        }
    }

    /// The answer, as a family writes it. `id`: of the request. `now`: the time, as the direct
    /// family writes it.
    pub(crate) fn answer(&self, family: Family, id: &str, now: &str) -> Response {
        let names = self.names();
        let text = self.text();
        let mut response = match family {
            Family::Problem => {
                let problem = self.problem(id);
                let mut response = (names.status, Json(problem)).into_response();
                let json = HeaderValue::from_static("application/problem+json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                response
            }
            Family::Envelope => {
                let details = json!({ "requestId": id });
                let error = json!({ "code": names.envelope, "message": text, "details": details });
                (names.status, Json(json!({ "error": error }))).into_response()
            }
            Family::Direct => {
                let body = json!({
                    "code": names.status.as_u16(),
                    "success": false,
                    "message": "请求处理失败",
                    "data": { "response": text, "error_type": names.direct, "timestamp": now },
                });
                (names.status, Json(body)).into_response()
            }
        };
        let headers = response.headers_mut();
        match self {
            Self::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::BodyTimeout => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::Encoding(known) => {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(known));
            }
            _ if matches!(names.status.as_u16(), 429 | 503 | 507) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }

    /// It does not go with what is there.
    pub(crate) fn conflict(text: impl Into<String>) -> Self {
        Self::Engine(ErrorKind::Conflict, text.into(), None)
    }

    /// Nothing is at this path.
    pub(crate) fn no_path() -> Self {
        Self::NotFound("there is nothing at this path".into())
    }
}

/// Carries what went wrong to the layer that writes it.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}
