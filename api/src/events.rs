//! Events.

use std::borrow::Cow;

use milepost_codec::{Application, Body, Data, Json, LineageId};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// An event. `milepost log --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct EventForm {
    /// The offset of the event.
    pub offset: Big,
    /// The lineage that the event was appended to.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The kind of the event, as listed in docs/EVENTS.md.
    pub kind: Cow<'static, str>,
    /// RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
    /// The person or program that caused the event; absent for the program itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The user on whose behalf it happened; absent for the task's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// An id that ties the event to work elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
    /// The idempotency key of the append, on its first event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The fields of the kind; `null` if the body was erased.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub body: Option<Body>,
}

/// A range of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RangeForm {
    /// The events, in the order of their offsets.
    pub items: Vec<EventForm>,
    /// The `from` of the next request; `null` at the end of the requested range.
    pub next: Option<Big>,
    /// The next offset of the lineage.
    pub head: Big,
}

/// An entry of an event stream: the task switched to another lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedForm {
    /// The lineage that the stream followed so far.
    pub from: LineageId,
    /// The lineage that the stream follows from here on.
    pub to: LineageId,
    /// The first offset whose events on `from` are not part of the history of `to`.
    pub at: Big,
}

impl<'de> Deserialize<'de> for EventForm {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        /// An event with its body as the original JSON text.
        #[derive(Deserialize)]
        struct Written {
            offset: Big,
            lineage: LineageId,
            kind: String,
            time: String,
            time_us: Big,
            actor: Option<String>,
            user: Option<String>,
            correlation: Option<String>,
            key: Option<String>,
            body: Option<Box<RawValue>>,
        }
        let written = Written::deserialize(d)?;
        let body = written.body.map(|text| body(&written.kind, text.get()));
        Ok(Self {
            body: body.transpose().map_err(Error::custom)?,
            offset: written.offset,
            lineage: written.lineage,
            kind: written.kind.into(),
            time: written.time,
            time_us: written.time_us,
            actor: written.actor,
            user: written.user,
            correlation: written.correlation,
            key: written.key,
        })
    }
}

/// Parses a body. A body that this version cannot represent is kept verbatim as [`Application`].
fn body(kind: &str, text: &str) -> milepost_codec::Result<Body> {
    match Body::from_json_of(kind, text) {
        Ok(Some(body)) => Ok(body),
        _ => Ok(Body::Application(Application {
            name: kind.into(),
            data: Data::Json(Json::new(text)?),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = concat!(
        r#"{"offset":7,"lineage":1,"kind":"KIND","time":"1970-01-01T00:00:00.000001Z","#,
        r#""time_us":1,"actor":"ana","body":BODY}"#
    );

    fn read(kind: &str, body: &str) -> EventForm {
        let text = EVENT.replace("KIND", kind).replace("BODY", body);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_event_is_read_back_as_it_was_written() {
        for (kind, body) in [
            ("message", r#"{"kind":"message","role":"user","content":"hello"}"#),
            ("application", r#"{"kind":"application","name":"x","data":{"a":1e400}}"#),
            ("step_started", "null"),
        ] {
            let text = EVENT.replace("KIND", kind).replace("BODY", body);
            let form = read(kind, body);
            assert_eq!(form.offset, Big(7));
            assert_eq!(serde_json::to_string(&form).unwrap(), text);
        }
    }

    #[test]
    fn what_a_newer_version_says_is_kept_word_for_word() {
        for (kind, text) in [
            ("gossip", r#"{"kind":"gossip","about":1e400}"#),
            ("step_started", r#"{"kind":"step_started","step":1,"mood":"good"}"#),
        ] {
            let form = read(kind, text);
            let Some(Body::Application(kept)) = &form.body else { panic!("{form:?}") };
            assert_eq!((kept.name.as_str(), &*form.kind), (kind, kind));
            assert_eq!(kept.data, Data::Json(Json::new(text).unwrap()));
        }
    }
}
