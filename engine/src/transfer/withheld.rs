//! Withheld events: a file has their headers and the hashes of their bodies, and may have bodies
//! that a copy shows instead. An import that keeps identity has them as erased events.

use milepost_codec::{
    Application, Body, Control, Data, Erased, Error, Hash, Header, Json, LineageId, LogKind,
    Offset, Result,
};

use super::{ExportBody, ExportEvent};
use crate::context::Context;
use crate::history::erased::is_erasable;

/// The event name of a body of which nothing is shown in a copy.
const WITHHELD: &str = "withheld";

impl ExportEvent {
    /// Returns `true` if an import that keeps identity accepts the event without its body. Other
    /// events depend on the remaining ones: on events of control logs, and on those that
    /// [`ViewRetention::erase`](crate::retention::ViewRetention::erase) refuses.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the header cannot be decoded.
    pub fn is_erasable(&self) -> Result<bool> {
        let is_of_lineage = matches!(self.log, LogKind::Lineage(_));
        Ok(is_of_lineage && is_erasable(Header::decode(&self.header)?.kind))
    }
}

/// Returns the lineage and the hash of a withheld body; `None` for any other item. Fails if only a
/// copy can have the event.
pub(super) fn of(event: &ExportEvent) -> Result<Option<(LineageId, Hash)>> {
    let ExportBody::Withheld { hash, .. } = event.body else {
        return Ok(None);
    };
    let only_copied = |why: &str| {
        let text = format!("{why}: the task can only be imported as a copy, under another name");
        Err(Error::invalid(text))
    };
    match (event.log, hash) {
        (LogKind::Lineage(lineage), Some(hash)) if event.is_erasable()? => {
            Ok(Some((lineage, hash)))
        }
        (_, Some(_)) => only_copied("its body is withheld, and others build on it"),
        (_, None) => only_copied("its header is redacted"),
    }
}

/// Returns the event of a caller that erases a withheld body, at an offset of the control log.
pub(super) fn erased(
    caller: &Context,
    (lineage, offset, body_hash): (LineageId, Offset, Hash),
    (at, time_us, salt): (Offset, u64, [u8; 16]),
) -> ExportEvent {
    let erased = Erased { lineage, offset, body_hash, reason: Some(WITHHELD.to_owned()) };
    let (kind, payload) = Control::from(erased).encode();
    ExportEvent {
        log: LogKind::Control,
        offset: at,
        header: Context::NONE.header(caller, kind, time_us).encode(),
        body: ExportBody::Inline(payload),
        salt: Some(salt),
        hash: None,
        checkpoint: None,
    }
}

/// Returns a withheld event as a copy has it: with the shown body, or as an event of the
/// application that names its kind.
pub(super) fn shown(event: &ExportEvent, shown: Option<&[u8]>) -> Result<ExportEvent> {
    let mut copied = event.clone();
    if let Some(shown) = shown {
        // A rebase stores it inline if it is short enough.
        copied.body = ExportBody::Chunked { payload: shown.to_vec(), ends: [0, 0] };
        return Ok(copied);
    }
    let mut header = Header::decode(&event.header)?;
    if !event.is_erasable()? {
        let why = "its body is withheld, nothing of it is shown, and others build on it";
        return Err(Error::invalid(why));
    }
    let name = Body::name_of(header.kind);
    let data = Json::from_value(&serde_json::json!({ "kind": name }))?;
    let instead = Application { name: WITHHELD.to_owned(), data: Data::Json(data) };
    let (kind, payload) = Body::from(instead).encode();
    header.kind = kind;
    (copied.header, copied.body) = (header.encode(), ExportBody::Inline(payload));
    Ok(copied)
}
