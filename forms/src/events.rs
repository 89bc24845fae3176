//! Events.

use std::borrow::Cow;

use milepost_codec::{Application, Body, Data, Json, LineageId};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// An event. `milepost log --json` shows the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct EventForm {
    /// Its place in the lineage.
    pub offset: Big,
    /// The lineage it was appended to.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// Its kind, as docs/EVENTS.md lists them.
    pub kind: Cow<'static, str>,
    /// RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
    /// Who or what did it; absent for the program itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The user it was done for; absent for the task's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What ties it to work elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
    /// The idempotency key of the append, on its first event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What it says, by its kind; `null` where it was erased.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub body: Option<Body>,
}

/// A range of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RangeForm {
    /// In the order of their offsets.
    pub items: Vec<EventForm>,
    /// Where to go on, as `from`; `null` where what was asked for ends.
    pub next: Option<Big>,
    /// The next offset of the lineage.
    pub head: Big,
}

/// The task goes on with another lineage: in a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedForm {
    /// The lineage that was followed.
    pub from: LineageId,
    /// The one that is followed from here on.
    pub to: LineageId,
    /// What was seen from this offset on is not its history.
    pub at: Big,
}

impl<'de> Deserialize<'de> for EventForm {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        /// The same with the body as it was written.
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

/// What of a newer version this one has no place for is kept word for word, as what an application
/// knows.
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

    const EVENT: &str = r#"{"offset":"7","lineage":1,"kind":"KIND","time":"1970-01-01T00:00:00.000001Z","time_us":"1","actor":"ana","body":BODY}"#;

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
