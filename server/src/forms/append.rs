//! What is appended, and what came of it.

use std::borrow::Cow;

use milepost::{Append, Body, Json, Mark, MarkStatus};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// An event to be appended.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventGiven<'a> {
    /// The kind's name.
    #[serde(borrow)]
    kind: Cow<'a, str>,
    /// What it says, as it is shown.
    #[schema(value_type = Object)]
    #[serde(borrow)]
    body: &'a RawValue,
    /// A checkpoint right behind it, in the same commit.
    pub(crate) mark: Option<MarkGiven>,
}

/// A line of many events: an event, or at the end the mark behind them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineGiven<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    mark: Option<MarkGiven>,
}

/// A checkpoint to be marked behind events.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MarkGiven {
    /// A name for people. Not all of it digits.
    #[serde(default, deserialize_with = "crate::read::some_text")]
    label: Option<String>,
    /// `success` unless given.
    #[schema(value_type = Option<String>)]
    status: Option<MarkStatus>,
    /// An object of at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Json>,
    /// Ids that others know it by.
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

/// What a line says.
pub(crate) enum Line {
    Event(Body),
    Mark(Mark),
}

impl LineGiven<'_> {
    pub(crate) fn read(self) -> Result<Line, String> {
        match (self.kind, self.body, self.mark) {
            (Some(kind), Some(given), None) => body(&kind, given).map(Line::Event),
            (None, None, Some(mark)) => Ok(Line::Mark(mark.into())),
            (_, _, Some(_)) => Err("a mark stands on a line of its own, the last".into()),
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

/// A body of a kind. What is shown of one says its kind, too: then it has to be the same.
fn body(kind: &str, given: &RawValue) -> Result<Body, String> {
    let body = Body::from_json_of(kind, given.get()).map_err(|error| error.to_string())?;
    match body {
        None => Err(format!(
            "there is no kind `{kind}`: what only the application knows is `application`, with `name` and `data`"
        )),
        // Only who has the folder can say what is in it: its chunks are not sent here.
        Some(Body::WorkspaceCaptured(_)) => {
            Err("workspace_captured is made where the folder is: a capture is not taken over HTTP"
                .into())
        }
        Some(body) => Ok(body),
    }
}
