//! Reducers whose state serde encodes.

use std::fmt;

use milepost_codec::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::chunks::Chunks;
use crate::event::Event;
use crate::reducer::Reducer;

/// A [`Reducer`] from a function, for any state with a default that serde encodes.
///
/// The encoding is JSON with sorted keys of objects. So maps may be of any order, sets must be
/// ordered (`BTreeSet`), and numbers must be finite. The state is in memory as a whole, and in each
/// snapshot: for a state that grows with the log, implement [`Reducer`] with a
/// [`Sequence`](crate::Sequence).
///
/// ```
/// use milepost_replay::{Event, SerdeReducer};
///
/// #[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
/// struct Usage {
///     calls: u64,
///     cents: u64,
/// }
///
/// let usage = SerdeReducer::new("example.usage", 1, |usage: &mut Usage, event: &Event| {
///     if let Some(cents) = event.application::<u64>("llm_usage")? {
///         usage.calls += 1;
///         usage.cents += cents;
///     }
///     Ok(())
/// });
/// # let _ = usage;
/// ```
pub struct SerdeReducer<S> {
    name: &'static str,
    version: u32,
    apply: Apply<S>,
}

/// Applies an event to a state.
type Apply<S> = fn(&mut S, &Event) -> Result<()>;

impl<S> SerdeReducer<S> {
    /// Creates a reducer. `name` and `version` are as in [`Reducer`]: a change of the function or
    /// of the form of the state needs a new version. The function has to be pure, and should fail
    /// for no event: an event stays in the log, and no later state could be computed.
    pub fn new(name: &'static str, version: u32, apply: Apply<S>) -> Self {
        Self { name, version, apply }
    }
}

impl<S> Clone for SerdeReducer<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for SerdeReducer<S> {}

impl<S> fmt::Debug for SerdeReducer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SerdeReducer")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl<S> Reducer for SerdeReducer<S>
where
    S: Default + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    type State = S;

    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn initial(&self) -> S {
        S::default()
    }

    fn apply(&self, state: &mut S, event: &Event, _: &dyn Chunks) -> Result<()> {
        (self.apply)(state, event)
    }

    fn encode(&self, state: &S) -> Result<Vec<u8>> {
        // The objects of a `Value` have sorted keys, those of a `HashMap` do not.
        let value = serde_json::to_value(state).and_then(|value| serde_json::to_vec(&value));
        value.map_err(|e| {
            let message = format!("a state of the reducer {} has no JSON form: {e}", self.name);
            Error::invalid(message).with_source(e)
        })
    }

    fn decode(&self, bytes: &[u8]) -> Result<S> {
        let place = || format!("the state of the reducer {}", self.name);
        serde_json::from_slice(bytes).map_err(|e| Error::corrupt(place(), "its form", e))
    }
}
