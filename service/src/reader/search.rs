//! A search for events.

use milepost::reading::Items;
use milepost::{Body, Error, Event, Result};

/// The events that are looked for; all, unless conditions are set.
#[derive(Debug, Clone, Default)]
pub struct EventSearch {
    kinds: Vec<String>,
    text: Option<String>,
    failed: bool,
}

impl EventSearch {
    /// Takes only events of these kinds, whose names are separated by commas.
    ///
    /// # Errors
    ///
    /// `Invalid`: there is no such kind.
    pub fn kinds(mut self, kinds: Option<&str>) -> Result<Self> {
        for kind in kinds.into_iter().flat_map(|kinds| kinds.split(',')).map(str::trim) {
            if !is_kind(kind) {
                let wrong: String = kind.chars().take(80).collect();
                return Err(Error::invalid(format!(
                    "kind is {wrong:?}, and no kind has this name: name one as in the answers, or \
                     several with commas, as `message,step_finished`"
                )));
            }
            self.kinds.push(kind.to_owned());
        }
        Ok(self)
    }

    /// Takes only events with a text in their JSON. Case does not count.
    #[must_use]
    pub fn text(mut self, text: Option<&str>) -> Self {
        self.text = text.filter(|text| !text.is_empty()).map(str::to_lowercase);
        self
    }

    /// Takes only calls and steps that failed.
    #[must_use]
    pub fn failed(mut self, failed: bool) -> Self {
        self.failed = failed;
        self
    }

    /// Returns `true` if every event is taken.
    pub fn takes_all(&self) -> bool {
        self.kinds.is_empty() && self.text.is_none() && !self.failed
    }

    /// Returns `true` if only failures are taken.
    pub(super) fn takes_failed(&self) -> bool {
        self.failed
    }

    /// Returns `true` if a text is looked for.
    pub(super) fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// Returns `true` if an event is taken.
    pub fn takes(&self, event: &Event) -> bool {
        let kind = Body::name_of(event.header.kind);
        let is_named = |kind: &str| self.kinds.iter().any(|name| name == kind);
        let is_of_kind = self.kinds.is_empty() || is_named(kind) || {
            // Messages and calls that a program keeps in its variables.
            let items = event.body.as_ref().map(Items::of).unwrap_or_default();
            items.bodies.iter().any(|body| is_named(body.kind_name()))
        };
        let has_failed = || event.body.as_ref().is_some_and(is_failed);
        is_of_kind && (!self.failed || has_failed()) && self.has(event)
    }

    /// Returns `true` if an event has the text.
    pub(super) fn has(&self, event: &Event) -> bool {
        let Some(text) = &self.text else { return true };
        let json = event.body.as_ref().and_then(|body| body.to_json().ok());
        json.is_some_and(|json| json.to_lowercase().contains(text))
    }

    /// Returns the text of the search, for tags of answers.
    pub fn tag(&self) -> String {
        let text = self.text.as_deref().unwrap_or_default();
        let text: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{text}-{}", self.kinds.join("-"), self.failed)
    }
}

/// Returns `true` for a failed call or step.
pub fn is_failed(body: &Body) -> bool {
    matches!(body, Body::StepFailed(_)) || matches!(body, Body::ToolReturned(it) if !it.ok)
}

/// Returns `true` if a kind of events has this name.
fn is_kind(name: &str) -> bool {
    name != "unknown" && (1..=u16::from(u8::MAX)).any(|kind| Body::name_of(kind) == name)
}
