//! Events: the input of a fold.

use milepost_codec::{Body, Data, Error, Header, LineageId, Offset, Result};
use serde::de::DeserializeOwned;

/// One decoded event of a lineage.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The lineage that recorded the event: the one being read, or an ancestor of it.
    pub lineage: LineageId,
    /// The offset, counted from the root.
    pub offset: Offset,
    /// The header. It remains when the body is erased.
    pub header: Header,
    /// The body; absent if it was erased.
    pub body: Option<Body>,
}

impl Event {
    /// Returns the data of an event of the application's kind `name`; `None` if this is another
    /// event, or its body was erased.
    ///
    /// ```
    /// # use milepost_replay::Event;
    /// fn cents(event: &Event) -> Result<u64, milepost_replay::Error> {
    ///     Ok(event.application("llm_usage")?.unwrap_or(0))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid`: the data is bytes, or JSON of another form.
    pub fn application<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        match &self.body {
            Some(Body::Application(event)) if event.name == name => match &event.data {
                Data::Json(json) => json.to().map(Some),
                Data::Bytes(_) => {
                    Err(Error::invalid(format!("the event `{name}` has bytes, not JSON")))
                }
            },
            _ => Ok(None),
        }
    }
}
