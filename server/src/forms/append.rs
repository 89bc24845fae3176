//! Requests of appends.

use std::borrow::Cow;

use milepost::{Append, Body, Mark};
use milepost_api::MarkRequest;
use milepost_service::forms;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// An event to append.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventRequest<'a> {
    /// The name of the kind.
    #[serde(borrow)]
    kind: Cow<'a, str>,
    /// The fields of the kind, in the same form as in answers.
    #[schema(value_type = Object)]
    #[serde(borrow)]
    body: &'a RawValue,
    /// The idempotency key of this event: with the same key it is appended once.
    key: Option<String>,
    /// A checkpoint directly after the event, in the same commit.
    pub(crate) mark: Option<MarkRequest>,
}

/// A line of a batch: an event, or on the last line the mark after the events.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineRequest<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    key: Option<String>,
    mark: Option<MarkRequest>,
}

impl EventRequest<'_> {
    pub(crate) fn append(self) -> Result<Append, String> {
        let body = body(&self.kind, self.body)?;
        let append = match self.key {
            Some(key) => Append::each_keyed([(key, body)]),
            None => Append::from(body),
        };
        Ok(match self.mark {
            Some(mark) => append.mark(forms::mark(mark)),
            None => append,
        })
    }
}

/// The parsed line of a batch.
pub(crate) enum Line {
    /// An event and its key.
    Event(Body, Option<String>),
    Mark(Mark),
}

impl LineRequest<'_> {
    pub(crate) fn read(self) -> Result<Line, String> {
        match (self.kind, self.body, self.mark) {
            (Some(kind), Some(given), None) => {
                body(&kind, given).map(|body| Line::Event(body, self.key))
            }
            (None, None, Some(_)) if self.key.is_some() => Err("a mark has no `key`".into()),
            (None, None, Some(mark)) => Ok(Line::Mark(forms::mark(mark))),
            (_, _, Some(_)) => Err("a mark has to be on a line of its own, the last one".into()),
            (None, ..) => Err("there is no `kind`".into()),
            (_, None, _) => Err("there is no `body`".into()),
        }
    }
}

/// Parses a body of a kind. A `kind` field inside the body must match.
fn body(kind: &str, given: &RawValue) -> Result<Body, String> {
    let body = Body::from_json_of(kind, given.get()).map_err(|error| error.to_string())?;
    match body {
        None => Err(format!(
            "there is no kind `{kind}`: what only the application knows is `application`, with \
             `name` and `data`"
        )),
        // Only a process with access to the folder can create a capture: its chunks are not sent
        // here.
        Some(Body::WorkspaceCaptured(_)) => {
            Err("workspace_captured is made where the folder is: a capture is not taken over HTTP"
                .into())
        }
        Some(body) => Ok(body),
    }
}
