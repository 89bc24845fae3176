//! Errors, and their form in each family of routes. A handler returns the error; the middleware
//! derives the family from the path and writes the answer.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use milepost::{Detail, Error, ErrorKind};
use milepost_api::{Big, FilesForm, Problem, Remedy};
use serde_json::json;
use tracing::error;

/// The media type of problem details (RFC 9457).
pub(crate) const PROBLEM: &str = "application/problem+json";

/// Prefix of the problem types.
const PROBLEMS: &str = "https://milepost.dev/problems/";

/// An error of a request.
#[derive(Debug, Clone)]
pub(crate) enum ApiError {
    /// The request is invalid.
    Invalid(String),
    /// The caller is unknown.
    Unauthorized,
    /// The caller lacks the right.
    Forbidden(&'static str),
    /// The object does not exist, or belongs to another user.
    NotFound(String),
    /// The path does not support the method.
    Method,
    /// None of these media types is acceptable to the client.
    NotAcceptable(&'static [&'static str]),
    TooLarge(usize),
    /// The answer would be too large. The text has the alternative.
    TooMuch(&'static str),
    /// The range begins behind the end of a value of this many bytes.
    BehindTheEnd(usize),
    MediaType(&'static str),
    /// The encoding of the body is not one of these.
    Encoding(&'static str),
    /// The body did not arrive in time.
    BodyTimeout,
    TooMany(usize),
    /// This many jobs are running.
    TooManyJobs(usize),
    /// The token's limit of changes per second is exceeded.
    TooFast(u32),
    Timeout,
    /// The store's disk has less free space than this reserve.
    Full(u64),
    /// An error with a name of its own in `/api/v0`: see `docs/HTTP.md`.
    Named(&'static str, StatusCode, String),
    /// The head is not the one of `If-Match`, but this one.
    Precondition(String, u64),
    /// An error of the engine.
    Engine(ErrorKind, String, Option<u64>),
    /// The error of a restore with a folder, with its next step and what explains it.
    Restore(Box<Self>, Option<Remedy>, Option<Box<FilesForm>>),
    /// A bug.
    Bug,
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self::saying(&error, error.to_string())
    }
}

impl From<milepost_service::Error> for ApiError {
    fn from(error: milepost_service::Error) -> Self {
        match error {
            milepost_service::Error::Engine(error) => error.into(),
            milepost_service::Error::Restore(failure) => {
                let error = Self::saying(&failure.error, failure.to_string());
                let form = failure.result.as_ref().and_then(|result| result.restore());
                Self::Restore(Box::new(error), failure.remedy, form.cloned().map(Box::new))
            }
            milepost_service::Error::Forbidden(text) => Self::Forbidden(text),
            milepost_service::Error::TooMuch(text) => Self::TooMuch(text),
        }
    }
}

/// The form of errors of a family of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// `/v1` and paths of no other family: problem details.
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

/// The names of an error in each family, and its title.
struct Names {
    status: StatusCode,
    problem: &'static str,
    title: &'static str,
    envelope: &'static str,
    direct: &'static str,
}

impl ApiError {
    /// Converts an error of the engine, with a text.
    fn saying(error: &Error, text: String) -> Self {
        let head = match error.detail() {
            Some(Detail::Head(head)) => Some(head.next),
            _ => None,
        };
        match error.kind() {
            ErrorKind::NotFound => Self::NotFound(text),
            ErrorKind::Invalid => Self::Invalid(text),
            kind => Self::Engine(kind, text, head),
        }
    }

    fn names(&self) -> Names {
        let (status, problem, title) = match self {
            Self::Restore(error, ..) => return error.names(),
            Self::Invalid(_) => (400, "invalid", "The request is not valid"),
            Self::Unauthorized => (401, "unauthorized", "A token is needed"),
            Self::Forbidden(_) => (403, "forbidden", "The token does not allow this"),
            Self::NotFound(_) => (404, "not_found", "It is not there"),
            Self::Method => (405, "method_not_allowed", "The path has no such method"),
            Self::NotAcceptable(_) => (406, "invalid", "The answer has no such form"),
            Self::BodyTimeout => (408, "timeout", "The body took too long"),
            Self::Precondition(..) => (412, "conflict", "The head is another one"),
            Self::TooLarge(_) => (413, "too_large", "The body is too large"),
            Self::TooMuch(_) => (413, "too_large", "The answer would be too large"),
            Self::BehindTheEnd(_) => (416, "invalid", "The range is behind the end"),
            Self::MediaType(_) => (415, "media_type", "The body is of another type"),
            Self::Encoding(_) => (415, "media_type", "The body is packed in another way"),
            Self::TooFast(_) => (429, "too_many", "Too many requests a second"),
            Self::TooManyJobs(_) => (429, "too_many", "Too many jobs are running"),
            Self::TooMany(_) => (429, "too_many", "Too many requests are under way"),
            Self::Bug => (500, "bug", "A fault of the service"),
            Self::Timeout => (504, "timeout", "The answer took too long"),
            Self::Full(_) => (507, "full", "The store's disk is full"),
            Self::Named(_, status, _) => (status.as_u16(), "invalid", "The request cannot be met"),
            Self::Engine(kind, ..) => match kind {
                ErrorKind::Conflict => (409, "conflict", "Something else came first"),
                ErrorKind::Corrupt => (500, "corrupt", "The store is damaged"),
                ErrorKind::Poisoned => (503, "poisoned", "A write to the store failed"),
                _ => (503, "unavailable", "The store cannot answer"),
            },
        };
        let (envelope, direct) = match (self, status) {
            (Self::Named(name, ..), _) => ("VALIDATION_ERROR", *name),
            (_, 401) => ("UNAUTHORIZED", "UNAUTHORIZED"),
            (_, 403) => ("FORBIDDEN", "FORBIDDEN"),
            (_, 404) => ("NOT_FOUND", "NOT_FOUND"),
            (_, 409 | 412) => ("CONFLICT", "CONFLICT"),
            (_, 429) => ("RATE_LIMITED", "RATE_LIMITED"),
            (_, 500) => ("INTERNAL_ERROR", "STORE_ERROR"),
            (_, 501..) => ("STORE_UNAVAILABLE", "STORE_ERROR"),
            _ => ("VALIDATION_ERROR", "INVALID_REQUEST"),
        };
        let status = StatusCode::from_u16(status).expect("each status is one of HTTP");
        Names { status, problem, title, envelope, direct }
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
            Self::Restore(error, ..) => error.text(),
            // One text for all causes.
            Self::Unauthorized => "send a valid token as `Authorization: Bearer TOKEN`".into(),
            Self::Forbidden(text) | Self::TooMuch(text) => (*text).into(),
            Self::BehindTheEnd(bytes) => format!("the value has {bytes} bytes"),
            Self::Method => "`Allow` says which it answers".into(),
            Self::NotAcceptable(offered) => format!("ask for {}", offered.join(" or ")),
            Self::TooLarge(most) => format!("a body has at most {most} bytes"),
            Self::MediaType(wanted) => format!("the body has to be {wanted}"),
            Self::Encoding(known) => format!("`Content-Encoding` has to be {known}"),
            Self::BodyTimeout => "the request's body did not come".into(),
            Self::TooMany(most) => {
                format!("a token has at most {most} requests under way: wait for answers")
            }
            Self::TooManyJobs(most) => {
                format!("there are {most} running jobs already: wait for one, or cancel it")
            }
            Self::TooFast(most) => {
                format!("the token may change something {most} times a second: wait")
            }
            Self::Timeout => "it may have been done or not: ask with the same key".into(),
            Self::Full(reserve) => format!(
                "the store's disk has less than {reserve} bytes left: make room, or clean the \
                 store up"
            ),
            Self::Bug => "the log of the service says more, under the request's id".into(),
        }
    }

    /// Returns the error as problem details. `id`: of the request.
    pub(crate) fn problem(&self, id: &str) -> Problem {
        let names = self.names();
        let head = match self {
            Self::Engine(_, _, head) => head.map(Big),
            Self::Precondition(_, head) => Some(Big(*head)),
            _ => None,
        };
        let (remedy, result) = match self {
            Self::Restore(_, remedy, result) => (remedy.clone(), result.clone()),
            _ => (None, None),
        };
        Problem {
            kind: format!("{PROBLEMS}{}", names.problem),
            title: names.title.into(),
            status: names.status.as_u16(),
            detail: self.text(),
            instance: id.to_owned(),
            head,
            remedy,
            result,
        }
    }

    /// Returns the answer in the form of a family. `id`: of the request. `now`: the time in the
    /// form of the direct family.
    pub(crate) fn answer(&self, family: Family, id: &str, now: &str) -> Response {
        let names = self.names();
        let text = self.text();
        let mut response = match family {
            Family::Problem => {
                let problem = self.problem(id);
                let mut response = (names.status, Json(problem)).into_response();
                let json = HeaderValue::from_static(PROBLEM);
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
            Self::BehindTheEnd(bytes) => {
                let range = HeaderValue::try_from(format!("bytes */{bytes}"));
                headers.extend(range.map(|range| (header::CONTENT_RANGE, range)));
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

    /// Creates the error of a service that cannot answer now.
    pub(crate) fn unavailable(text: impl Into<String>) -> Self {
        Self::Engine(ErrorKind::Unavailable, text.into(), None)
    }

    /// Creates a conflict with existing data.
    pub(crate) fn conflict(text: impl Into<String>) -> Self {
        Self::Engine(ErrorKind::Conflict, text.into(), None)
    }

    /// Creates the error for an unknown path.
    pub(crate) fn no_path() -> Self {
        Self::NotFound("there is nothing at this path".into())
    }
}

/// Attaches the error to the response, for the middleware that writes it.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Logs the message of a panic.
pub(crate) fn bug(id: &str, panic: tokio::task::JoinError) {
    let said = panic.try_into_panic().ok();
    let text = said.as_ref().and_then(|said| {
        let text = said.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| said.downcast_ref::<&str>().copied())
    });
    error!(target: "milepost::http", request_id = id, panic = text.unwrap_or_default(), "a bug");
}
