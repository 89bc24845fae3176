//! What went wrong, and what to do about it.

use std::fmt;
use std::time::Duration;

use milepost_forms::{Big, Problem};

/// The result of what may fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The longest detail of an error. What comes from elsewhere may be of any length.
const DETAIL_MAX: usize = 1000;

/// What the caller can do about an error: the kinds of problems that `docs/HTTP.md` lists, and two
/// of the client's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request cannot be met as it was made: change it. The client says it, too, of what it
    /// does not send.
    Invalid,
    /// The token is missing, wrong, revoked or expired.
    Unauthorized,
    /// The token does not allow it.
    Forbidden,
    /// It is not there, or somebody else's.
    NotFound,
    /// The path has no such method: the service is another version, or another one.
    MethodNotAllowed,
    /// Somebody else was first: look at [`Error::head`], and decide again.
    Conflict,
    /// What was sent has too many bytes, or what was asked for would have.
    TooLarge,
    /// What was sent has a type that is not taken.
    MediaType,
    /// Too many requests are under way: wait for answers.
    TooMany,
    /// The store is damaged: verify and repair it.
    Corrupt,
    /// Not now: ask again later.
    Unavailable,
    /// A write to the store failed: the service has to be restarted.
    Poisoned,
    /// It took too long. Of a change it is not known whether it was done.
    Timeout,
    /// A fault of the service: its log says more, under [`Error::instance`].
    Bug,
    /// No whole answer came: no connection, or one that broke, or that said nothing for too long.
    /// Of a change it is not known whether it was done, unless [`Error::was_reached`] says that
    /// nobody was asked.
    Transport,
    /// An answer came that is not understood, or is longer than may be: it may be that something
    /// else answers there.
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

    /// Of a problem, by the last part of its type.
    fn of(problem: &Problem) -> Self {
        let name = problem.kind.rsplit('/').next().unwrap_or_default();
        let found = Self::NAMES.iter().find(|(of, _)| *of == name);
        found.map_or_else(|| Self::of_status(problem.status), |(_, kind)| *kind)
    }

    /// Of an answer without a problem that is known: whatever stands between may have given it.
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

    /// What helps where the detail does not say it.
    fn advice(self) -> Option<&'static str> {
        match self {
            Self::Unauthorized => Some("give the client a token by `ClientBuilder::token`"),
            Self::Conflict => Some("read what came first, and decide again"),
            Self::Answer => Some("see whether a Milepost service answers there, and which version"),
            _ => None,
        }
    }
}

/// What went wrong, by what can be done about it ([`ErrorKind`]), with a text for people.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    /// Method and path.
    asked: String,
    detail: String,
    status: Option<u16>,
    head: Option<u64>,
    instance: Option<String>,
    retry_after: Option<Duration>,
    was_reached: bool,
}

impl Error {
    /// What can be done about it.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The status of the answer, where one came.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// What was wrong, in the service's words where it said it.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The head of the lineage, where another was expected.
    pub fn head(&self) -> Option<u64> {
        self.0.head
    }

    /// The id of the request: the log of the service has it, too.
    pub fn instance(&self) -> Option<&str> {
        self.0.instance.as_deref()
    }

    /// How long the service wants nobody to ask again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Whether somebody may have got the request. Where not, nothing was done.
    pub fn was_reached(&self) -> bool {
        self.0.was_reached
    }

    /// One of the client's own.
    pub(crate) fn new(kind: ErrorKind, asked: &str, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if let Some((end, _)) = detail.char_indices().nth(DETAIL_MAX) {
            detail.truncate(end);
            detail.push('…');
        }
        Self(Box::new(Inner {
            kind,
            asked: asked.to_owned(),
            detail,
            status: None,
            head: None,
            instance: None,
            retry_after: None,
            was_reached: true,
        }))
    }

    /// What is not sent, since it cannot be.
    pub(crate) fn invalid(asked: &str, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, asked, detail).unreached()
    }

    /// What did not come whole.
    pub(crate) fn lost(asked: &str, error: &reqwest::Error) -> Self {
        let lost = Self::new(ErrorKind::Transport, asked, causes(error));
        match error.is_connect() {
            true => lost.unreached(),
            false => lost,
        }
    }

    pub(crate) fn late(asked: &str, after: Duration) -> Self {
        let text = format!("nothing came for {} s", after.as_secs_f32());
        Self::new(ErrorKind::Transport, asked, text)
    }

    /// A problem, in an answer or in a stream.
    pub(crate) fn of_problem(asked: &str, problem: Problem) -> Self {
        let mut error = Self::new(ErrorKind::of(&problem), asked, problem.detail);
        let inner = &mut *error.0;
        inner.status = Some(problem.status);
        inner.head = problem.head.map(|Big(head)| head);
        inner.instance = Some(problem.instance);
        error
    }

    /// An answer that refuses: with a problem, or with whatever somebody in between says.
    pub(crate) fn of_answer(asked: &str, status: u16, body: &[u8]) -> Self {
        let mut error = match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => Self::of_problem(asked, problem),
            Err(_) => {
                let text = String::from_utf8_lossy(body);
                let text = match text.trim() {
                    "" => format!("the answer is {status}, and says nothing"),
                    text => text.to_owned(),
                };
                Self::new(ErrorKind::of_status(status), asked, text)
            }
        };
        error.0.status = Some(status);
        error
    }

    pub(crate) fn after(mut self, retry_after: Option<Duration>) -> Self {
        self.0.retry_after = retry_after;
        self
    }

    fn unreached(mut self) -> Self {
        self.0.was_reached = false;
        self
    }
}

/// What failed, and why, down to where it began.
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
        write!(f, "{}: {}", self.asked, self.detail)?;
        if let Some(head) = self.head {
            write!(f, " (the head is {head})")?;
        }
        match (self.kind, self.was_reached) {
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
            "POST /v1/tasks: it is so (the head is 7); read what came first, and decide again [request id-1]"
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
