//! Events.

use milepost::{Body, Event, LineageId};
use serde::Serialize;
use utoipa::ToSchema;

use super::Big;
use crate::time;

/// An event. `milepost log --json` shows the same.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventForm {
    offset: Big,
    /// The lineage it was appended to.
    #[schema(value_type = u32)]
    lineage: LineageId,
    kind: &'static str,
    /// RFC 3339, UTC.
    time: String,
    time_us: Big,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// What it says, by its kind; `null` where it was erased.
    #[schema(value_type = Option<Object>)]
    body: Option<Body>,
}

impl EventForm {
    /// The name of its kind.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }
}

impl From<Event> for EventForm {
    fn from(event: Event) -> Self {
        let header = event.header;
        Self {
            offset: Big(event.offset),
            lineage: event.lineage,
            kind: Body::name_of(header.kind),
            time: time::micros(header.time_us),
            time_us: Big(header.time_us),
            actor: header.actor,
            user: header.user,
            correlation: header.correlation,
            key: header.key,
            body: event.body,
        }
    }
}
