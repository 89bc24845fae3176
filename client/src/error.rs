//! Errors of a client, by remedy.

use std::fmt;
use std::time::Duration;

use milepost_api::{Big, FilesForm, Problem, Remedy};

/// The result of a fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The maximum length of an error's detail, in characters. Remote texts may have any length.
const DETAIL_MAX: usize = 1000;

/// Errors by the caller's remedy: the kinds of problems in `docs/HTTP.md`, and two of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is invalid: change it. The client also uses this for requests that it does not
    /// send.
    Invalid,
    /// The token is missing, wrong, revoked or expired.
    Unauthorized,
    /// The token does not allow the request.
    Forbidden,
    /// The object does not exist, or belongs to another user.
    NotFound,
    /// The path does not support the method: the service has another version, or is not Milepost.
    MethodNotAllowed,
    /// Another change was committed first: read [`Error::head`] and decide again.
    Conflict,
    /// The request's body is too large, or the answer would be.
    TooLarge,
    /// The media type of the body is not supported.
    MediaType,
    /// Too many requests are active: wait for answers.
    TooMany,
    /// The store is damaged: verify and repair it.
    Corrupt,
    /// The service is temporarily unavailable: retry later.
    Unavailable,
    /// A write to the store failed: the service must be restarted.
    Poisoned,
    /// The request timed out. The outcome of a change is unknown.
    Timeout,
    /// A bug in the service: its log has details under [`Error::instance`].
    Bug,
    /// No complete answer arrived: the connection failed, broke or was silent for too long. The
    /// outcome of a change is unknown, unless [`Error::was_reached`] returns false.
    Transport,
    /// The answer cannot be parsed or is too long: another program may answer at the address.
    Answer,
}

impl ErrorKind {
    const NAMES: [(&'static str, Self); 14] = [
        ("invalid", Self::Invalid),
        ("unauthorized", Self::Unauthorized),
        ("forbidden", Self::Forbidden),
        ("not_found", Self::NotFound),
        ("method_not_allowed", Self::MethodNotAllowed),
        ("conflict", Self::Conflict),
        ("too_large", Self::TooLarge),
        ("media_type", Self::MediaType),
        ("too_many", Self::TooMany),
        ("corrupt", Self::Corrupt),
        ("unavailable", Self::Unavailable),
        ("poisoned", Self::Poisoned),
        ("timeout", Self::Timeout),
        ("bug", Self::Bug),
    ];

    /// Returns the kind of a problem, by the last segment of its type.
    fn of(problem: &Problem) -> Self {
        let name = problem.kind.rsplit('/').next().unwrap_or_default();
        let found = Self::NAMES.iter().find(|(of, _)| *of == name);
        found.map_or_else(|| Self::of_status(problem.status), |(_, kind)| *kind)
    }

    /// Returns the kind of an answer without a known problem, as a proxy may send it.
    fn of_status(status: u16) -> Self {
        match status {
            400 | 406 => Self::Invalid,
            401 | 407 => Self::Unauthorized,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            405 => Self::MethodNotAllowed,
            408 | 504 => Self::Timeout,
            409 | 412 => Self::Conflict,
            413 => Self::TooLarge,
            415 => Self::MediaType,
            429 => Self::TooMany,
            502 | 503 => Self::Unavailable,
            _ => Self::Answer,
        }
    }

    /// Returns a remedy that the detail does not contain.
    fn advice(self) -> Option<&'static str> {
        match self {
            Self::Unauthorized => Some("give the client a token by `ClientBuilder::token`"),
            Self::Conflict => Some("read what came first, and decide again"),
            Self::Answer => Some("see whether a Milepost service answers there, and which version"),
            _ => None,
        }
    }
}

/// An error with its kind ([`ErrorKind`]) and a text for people.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    /// The method and the path.
    endpoint: String,
    detail: String,
    status: Option<u16>,
    head: Option<u64>,
    instance: Option<String>,
    remedy: Option<Remedy>,
    result: Option<Box<FilesForm>>,
    retry_after: Option<Duration>,
    was_reached: bool,
}

impl Error {
    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the status of the answer, if there was one.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Returns the cause, in the service's words if it gave any.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Returns the actual head of the lineage, if the request expected another.
    pub fn head(&self) -> Option<u64> {
        self.0.head
    }

    /// Returns the id of the request, which the service's log contains.
    pub fn instance(&self) -> Option<&str> {
        self.0.instance.as_deref()
    }

    /// Returns the next step, if it adds something to the kind.
    pub fn remedy(&self) -> Option<&Remedy> {
        self.0.remedy.as_ref()
    }

    /// Returns what explains the refusal of a restore with a folder: its plan with the conflicts,
    /// and the recovery of an interrupted one that came first.
    pub fn result(&self) -> Option<&FilesForm> {
        self.0.result.as_deref()
    }

    /// Returns the time to wait before a retry, as requested by the service.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns false if the request certainly did not reach the service: no change was made.
    pub fn was_reached(&self) -> bool {
        self.0.was_reached
    }

    /// Creates an error of the client itself.
    pub(crate) fn new(kind: ErrorKind, endpoint: &str, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if let Some((end, _)) = detail.char_indices().nth(DETAIL_MAX) {
            detail.truncate(end);
            detail.push('…');
        }
        Self(Box::new(Inner {
            kind,
            endpoint: endpoint.to_owned(),
            detail,
            status: None,
            head: None,
            instance: None,
            remedy: None,
            result: None,
            retry_after: None,
            was_reached: true,
        }))
    }

    /// Creates an error of a request that is not sent.
    pub(crate) fn invalid(endpoint: &str, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, endpoint, detail).unreached()
    }

    /// Creates an error of an incomplete answer.
    pub(crate) fn connection_lost(endpoint: &str, error: &reqwest::Error) -> Self {
        let connection_lost = Self::new(ErrorKind::Transport, endpoint, causes(error));
        match error.is_connect() {
            true => connection_lost.unreached(),
            false => connection_lost,
        }
    }

    pub(crate) fn timed_out(endpoint: &str, after: Duration) -> Self {
        let text = format!("nothing came for {} s", after.as_secs_f32());
        Self::new(ErrorKind::Transport, endpoint, text)
    }

    /// Converts a problem of an answer or of a stream.
    pub(crate) fn of_problem(endpoint: &str, problem: Problem) -> Self {
        let mut error = Self::new(ErrorKind::of(&problem), endpoint, problem.detail);
        let inner = &mut *error.0;
        inner.status = Some(problem.status);
        inner.head = problem.head.map(|Big(head)| head);
        inner.instance = Some(problem.instance);
        inner.remedy = problem.remedy;
        inner.result = problem.result;
        error
    }

    /// Converts an error answer: a problem of the service, or the text of a proxy.
    pub(crate) fn of_answer(endpoint: &str, status: u16, body: &[u8]) -> Self {
        let mut error = match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => Self::of_problem(endpoint, problem),
            Err(_) => {
                let text = String::from_utf8_lossy(body);
                let text = match text.trim() {
                    "" => format!("the answer is {status}, and says nothing"),
                    text => text.to_owned(),
                };
                Self::new(ErrorKind::of_status(status), endpoint, text)
            }
        };
        error.0.status = Some(status);
        error
    }

    pub(crate) fn after(mut self, retry_after: Option<Duration>) -> Self {
        self.0.retry_after = retry_after;
        self
    }

    pub(crate) fn reached(mut self) -> Self {
        self.0.was_reached = true;
        self
    }

    pub(crate) fn unreached(mut self) -> Self {
        self.0.was_reached = false;
        self
    }
}

/// Returns the messages of an error and all its sources.
fn causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.endpoint, self.detail)?;
        if let Some(head) = self.head {
            write!(f, " (the head is {head})")?;
        }
        // A read changes nothing, also where it was done.
        let may_be_done = self.was_reached && !self.endpoint.starts_with("GET ");
        match (self.kind, may_be_done) {
            (ErrorKind::Transport, false) => f.write_str("; see whether the service runs there")?,
            (ErrorKind::Transport, true) => f.write_str("; what was asked may have been done")?,
            (kind, _) => {
                if let Some(advice) = kind.advice() {
                    write!(f, "; {advice}")?;
                }
            }
        }
        match &self.instance {
            Some(id) => write!(f, " [request {id}]"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: &str, status: u16) -> Vec<u8> {
        let kind = format!("https://milepost.dev/problems/{kind}");
        let problem = Problem {
            kind,
            title: "Something".into(),
            status,
            detail: "it is so".into(),
            instance: "id-1".into(),
            head: Some(Big(7)),
            remedy: None,
            result: None,
        };
        serde_json::to_vec(&problem).unwrap()
    }

    #[test]
    fn each_kind_of_problem_is_one_of_errors_and_a_new_one_goes_by_its_status() {
        for (name, kind) in ErrorKind::NAMES {
            let error = Error::of_answer("GET /", 500, &problem(name, 500));
            assert_eq!(error.kind(), kind, "{name}");
        }
        let error = Error::of_answer("GET /", 409, &problem("jealous", 409));
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!((error.head(), error.instance()), (Some(7), Some("id-1")));
    }

    #[test]
    fn it_says_what_where_and_what_to_do() {
        let error = Error::of_answer("POST /v1/tasks", 412, &problem("conflict", 412));
        assert_eq!(
            error.to_string(),
            "POST /v1/tasks: it is so (the head is 7); read what came first, and decide again \
             [request id-1]"
        );
        let error = Error::of_answer("GET /v1/tasks", 502, b"<html>Bad Gateway</html>");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.detail(), "<html>Bad Gateway</html>");
        let error = Error::of_answer("GET /v1/tasks", 302, b"");
        assert_eq!(error.kind(), ErrorKind::Answer);
        assert!(error.to_string().contains("says nothing; see whether"));
    }

    #[test]
    fn what_comes_from_elsewhere_is_cut() {
        let error = Error::of_answer("GET /", 500, "é".repeat(100_000).as_bytes());
        assert_eq!(error.detail().chars().count(), DETAIL_MAX + 1);
    }
}
