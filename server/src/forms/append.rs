//! Requests of appends.

use std::borrow::Cow;

use milepost::events::MarkStatus;
use milepost::{Append, Body, Json, Mark};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// An event to append.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventGiven<'a> {
    /// The name of the kind.
    #[serde(borrow)]
    kind: Cow<'a, str>,
    /// The fields of the kind, in the same form as in answers.
    #[schema(value_type = Object)]
    #[serde(borrow)]
    body: &'a RawValue,
    /// A checkpoint directly after the event, in the same commit.
    pub(crate) mark: Option<MarkGiven>,
}

/// A line of a batch: an event, or on the last line the mark after the events.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineGiven<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    mark: Option<MarkGiven>,
}

/// A checkpoint to mark after events.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MarkGiven {
    /// A label for people; not all digits.
    #[serde(default, deserialize_with = "crate::read::some_text")]
    label: Option<String>,
    /// Default: `success`.
    #[schema(value_type = Option<String>)]
    status: Option<MarkStatus>,
    /// An object of at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Json>,
    /// Ids of the checkpoint in other systems.
    #[serde(default, deserialize_with = "crate::read::aliases")]
    aliases: Vec<String>,
}

impl EventGiven<'_> {
    pub(crate) fn append(self) -> Result<Append, String> {
        let append = Append::from(body(&self.kind, self.body)?);
        Ok(match self.mark {
            Some(mark) => append.mark(mark.into()),
            None => append,
        })
    }
}

/// The parsed line of a batch.
pub(crate) enum Line {
    Event(Body),
    Mark(Mark),
}

impl LineGiven<'_> {
    pub(crate) fn read(self) -> Result<Line, String> {
        match (self.kind, self.body, self.mark) {
            (Some(kind), Some(given), None) => body(&kind, given).map(Line::Event),
            (None, None, Some(mark)) => Ok(Line::Mark(mark.into())),
            (_, _, Some(_)) => Err("a mark has to be on a line of its own, the last one".into()),
            (None, ..) => Err("there is no `kind`".into()),
            (_, None, _) => Err("there is no `body`".into()),
        }
    }
}

impl From<MarkGiven> for Mark {
    fn from(given: MarkGiven) -> Self {
        let mut mark = Self::new();
        if let Some(label) = given.label {
            mark = mark.label(label);
        }
        if let Some(status) = given.status {
            mark = mark.status(status);
        }
        if let Some(metadata) = given.metadata {
            mark = mark.metadata(metadata);
        }
        given.aliases.into_iter().fold(mark, Mark::alias)
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
