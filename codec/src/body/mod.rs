//! Event bodies: one structure for each kind, and its stored and JSON forms.
//!
//! On disk a body is its kind, a stable number, and a payload, the structure's fields in order
//! (`wire.rs`). In JSON it is an object tagged by `kind` in snake case. An unknown kind is kept
//! unchanged in both forms.

mod kinds;
pub(crate) mod macros;

use bincode::{Decode, Encode};
use data_encoding::BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::checkpoint::{CheckpointMarked, CheckpointUnmarked};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::limits::check_text;
pub use kinds::*;

macros::bodies! {
    /// The body of a lineage's event.
    Body, "event body" {
        /// The first event of a lineage.
        1 LineageOpened "lineage_opened",
        /// A step of the run began.
        2 StepStarted "step_started",
        /// A step of the run ended well.
        3 StepFinished "step_finished",
        /// A step of the run ended badly.
        4 StepFailed "step_failed",
        /// The iteration changed from one state to the next.
        5 PhaseChanged "phase_changed",
        /// The run was started, paused, resumed or stopped.
        6 ControlChanged "control_changed",
        /// A person gave an instruction.
        7 GuidanceGiven "guidance_given",
        /// The prompt was replaced.
        8 PromptChanged "prompt_changed",
        /// The rule system was replaced.
        9 RulesChanged "rules_changed",
        /// Artifacts were set or removed.
        10 ArtifactsEdited "artifacts_edited",
        /// The variables were patched.
        11 VariablesPatched "variables_patched",
        /// The context was patched.
        12 ContextChanged "context_changed",
        /// A message of the conversation.
        13 Message "message",
        /// A tool was called.
        14 ToolCalled "tool_called",
        /// A tool returned.
        15 ToolReturned "tool_returned",
        /// The workspace was captured.
        16 WorkspaceCaptured "workspace_captured",
        /// A checkpoint was marked.
        17 CheckpointMarked "checkpoint_marked",
        /// A checkpoint's mark was removed.
        18 CheckpointUnmarked "checkpoint_unmarked",
        /// Data was attached to an existing checkpoint.
        19 CheckpointAttached "checkpoint_attached",
        /// This lineage was opened by a restore to an earlier point.
        20 Restored "restored",
        /// An event kind that the application defines.
        21 Application "application",
        /// Data was attached to a checkpoint by one of its aliases.
        22 DataAttached "data_attached",
    }
}

impl Body {
    /// Checks the texts against the limits that appends have.
    ///
    /// # Errors
    ///
    /// `Invalid`: a text is over its limit; the message names it.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::CheckpointMarked(mark) => mark.check(),
            Self::LineageOpened(opened) => check_text("a description", opened.description.as_ref()),
            _ => Ok(()),
        }
    }

    /// Parses the JSON form. An unknown `kind` becomes an [`Application`] event that keeps the text
    /// verbatim. Extra fields of a message are kept in it. Extra or missing fields of other kinds
    /// are `Invalid`; the error names the field.
    pub fn from_json(text: &str) -> Result<Self> {
        let fields = macros::fields(text)?;
        let kind = macros::kind_of(&fields)?;
        match Self::known_from_json(&kind, text) {
            Some((Ok(Self::Message(mut message)), ignored)) => {
                message.extra = macros::pick(&fields, &ignored.fields)?;
                Ok(Self::Message(message))
            }
            Some((body, ignored)) => macros::refuse_unknown(&kind, &ignored.fields).and(body),
            None => Ok(Self::Application(Application {
                name: kind,
                data: Data::Json(Json::new(text)?),
            })),
        }
    }

    /// Parses the JSON form of a known `kind`. A `kind` field in the text is optional and must be
    /// equal. Returns `None` for an unknown kind. Parses the text once if the kind's structure has
    /// all its fields.
    ///
    /// # Errors
    ///
    /// `Invalid`: as for [`Body::from_json`].
    ///
    /// ```
    /// use milepost_codec::{Body, Message};
    ///
    /// let text = r#"{"role":"user","content":"hello"}"#;
    /// let body = Body::from_json_of("message", text)?;
    /// assert_eq!(body, Some(Message::text("user", "hello").into()));
    /// assert_eq!(Body::from_json_of("gossip", text)?, None);
    /// # Ok::<(), milepost_codec::Error>(())
    /// ```
    pub fn from_json_of(kind: &str, text: &str) -> Result<Option<Self>> {
        // serde also parses structures from arrays.
        if !text.trim_ascii_start().starts_with('{') {
            return Err(Error::invalid("`body` is no object"));
        }
        let Some((body, ignored)) = Self::known_from_json(kind, text) else {
            return Ok(None);
        };
        if ignored.kind {
            macros::same_kind(kind, &macros::fields(text)?)?;
        }
        match body {
            Ok(Self::Message(mut message)) if !ignored.fields.is_empty() => {
                message.extra = macros::pick(&macros::fields(text)?, &ignored.fields)?;
                Ok(Some(Self::Message(message)))
            }
            Ok(Self::Message(message)) => Ok(Some(Self::Message(message))),
            body => macros::refuse_unknown(kind, &ignored.fields).and(body).map(Some),
        }
    }

    /// Returns the JSON form as text.
    pub fn to_json(&self) -> Result<String> {
        // `Json` would refuse it: the form nests up to two levels deeper than its contents.
        serde_json::to_string(self)
            .map_err(|e| Error::invalid(format!("no JSON form: {e}")).with_source(e))
    }
}

/// Bytes or JSON, as the application chooses.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Data {
    /// A JSON value. It has the same form in JSON.
    Json(Json),
    /// Bytes. In JSON they are `{"base64": "..."}`.
    Bytes(Vec<u8>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Base64Form {
    base64: String,
}

pub(crate) fn base64_form(bytes: &[u8]) -> impl Serialize + use<> {
    Base64Form { base64: BASE64.encode(bytes) }
}

/// Decodes the base64 form.
pub(crate) fn from_base64_form<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
    let form = Base64Form::deserialize(d)?;
    let decoded = BASE64.decode(form.base64.as_bytes());
    decoded.map_err(serde::de::Error::custom)
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(json) => json.serialize(s),
            Self::Bytes(bytes) => base64_form(bytes).serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(d)?;
        // serde would also parse an array of one string as the form.
        let object = json.text().starts_with('{').then(|| json.text());
        let bytes = object
            .and_then(|text| serde_json::from_str::<Base64Form>(text).ok())
            .and_then(|form| BASE64.decode(form.base64.as_bytes()).ok());
        Ok(bytes.map_or(Self::Json(json), Self::Bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_becomes_an_application_event_word_for_word() {
        let line = r#"{"kind":"tea_break", "minutes": 1.50 }"#;
        let Body::Application(app) = Body::from_json(line).unwrap() else { panic!("not kept") };
        assert_eq!(app.name, "tea_break");
        assert_eq!(app.data, Data::Json(Json::new(line).unwrap()));
    }

    #[test]
    fn extra_fields_of_a_message_are_kept() {
        let line = r#"{"kind":"message","role":"user","content":"hi","agent":"main","n":1.0}"#;
        let body = Body::from_json(line).unwrap();
        let Body::Message(message) = &body else { panic!("not a message") };
        assert_eq!(message.extra.as_ref().unwrap().text(), r#"{"agent":"main","n":1.0}"#);
        assert_eq!(body.to_json().unwrap(), line);
    }

    #[test]
    fn extra_fields_of_other_kinds_are_refused_by_name() {
        let error = Body::from_json(r#"{"kind":"step_failed","step":1,"error":"x","why":2}"#);
        assert!(error.unwrap_err().to_string().contains("why"));
        let error = Body::from_json(r#"{"kind":"step_failed"}"#);
        assert!(error.unwrap_err().to_string().contains("step"));
        assert!(Body::from_json(r#"{"role":"user"}"#).unwrap_err().to_string().contains("kind"));
        assert!(Body::from_json("[1]").is_err());
    }

    #[test]
    fn a_kind_of_a_newer_version_is_kept() {
        let body = Body::decode(9999, &[1, 2, 3]).unwrap();
        assert_eq!(body.encode(), (9999, vec![1, 2, 3]));
        assert_eq!(body.kind_name(), "unknown");
        assert!(body.to_json().unwrap().contains("AQID"));
    }

    #[test]
    fn bytes_of_an_application_go_through_json() {
        let body =
            Body::Application(Application { name: "raw".into(), data: Data::Bytes(vec![0, 255]) });
        assert_eq!(Body::from_json(&body.to_json().unwrap()).unwrap(), body);
    }
}
