//! The fold: what turns events into a state.

use milepost_codec::{ChunkId, Error, ErrorKind, Result};

use crate::chunks::Chunks;
use crate::event::Event;

/// Turns events into a state, one at a time.
///
/// A reducer is a pure function: it asks no clock, no file and nothing random, so the same events
/// give the same state on every machine (promise I5). Its name and version are the key of what is
/// cached, so a change of what it computes, or of its encoding, is a new version.
///
/// `apply` should be total: an event in the log stays there, and one that makes `apply` fail
/// makes every later state unreachable. Errors are for chunks that cannot be put or got.
///
/// # Example
///
/// ```
/// use milepost_replay::{Chunks, Event, Reducer, Result};
///
/// /// Counts events whose body is still there.
/// struct Counter;
///
/// impl Reducer for Counter {
///     type State = u64;
///     fn name(&self) -> &str {
///         "example.counter"
///     }
///     fn version(&self) -> u32 {
///         1
///     }
///     fn initial(&self) -> u64 {
///         0
///     }
///     fn apply(&self, state: &mut u64, event: &Event, _: &dyn Chunks) -> Result<()> {
///         *state += u64::from(event.body.is_some());
///         Ok(())
///     }
///     fn encode(&self, state: &u64) -> Result<Vec<u8>> {
///         Ok(state.to_le_bytes().to_vec())
///     }
///     fn decode(&self, bytes: &[u8]) -> Result<u64> {
///         milepost_codec::Reader::new(bytes, "counter").u64()
///     }
/// }
/// ```
pub trait Reducer: Send + Sync + 'static {
    /// What the events add up to.
    type State: Send + Sync + 'static;

    /// A name that no other reducer has, in the manner of `company.purpose`.
    fn name(&self) -> &str;

    /// The version of what it computes and of its encoding.
    fn version(&self) -> u32;

    /// The state before the first event.
    fn initial(&self) -> Self::State;

    /// Takes one event into the state. After an error the state is not to be used further.
    fn apply(&self, state: &mut Self::State, event: &Event, chunks: &dyn Chunks) -> Result<()>;

    /// The state as bytes: the same bytes for the same state, everywhere.
    fn encode(&self, state: &Self::State) -> Result<Vec<u8>>;

    /// Reads a state. `Corrupt` where the bytes are not one.
    fn decode(&self, bytes: &[u8]) -> Result<Self::State>;

    /// Reads a state that another version encoded. Retention keeps the state that trimmed events
    /// led to, and those cannot be folded again: whoever changes a version reads the states of the
    /// one before here.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it is not overridden.
    fn upgrade(&self, version: u32, bytes: &[u8]) -> Result<Self::State> {
        let _ = bytes;
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the state of reducer {} was kept by its version {version}, and version {} does not \
                 read it: implement Reducer::upgrade",
                self.name(),
                self.version()
            ),
        ))
    }

    /// Bytes of the state that are in chunks and not in its encoding: with it, the size of the
    /// whole state, by which snapshots are spaced.
    fn bytes_in_chunks(&self, state: &Self::State) -> u64 {
        let _ = state;
        0
    }

    /// The chunks that the state refers to, so that they are kept as long as it is. What those
    /// refer to in turn is found by whoever keeps them.
    fn refers(&self, state: &Self::State) -> Vec<ChunkId> {
        let _ = state;
        Vec::new()
    }
}

/// Takes events into a state, in their order.
///
/// # Errors
///
/// The first error among the events, or of [`Reducer::apply`].
pub fn fold<R: Reducer>(
    reducer: &R,
    mut state: R::State,
    events: impl Iterator<Item = Result<Event>>,
    chunks: &dyn Chunks,
) -> Result<R::State> {
    for event in events {
        reducer.apply(&mut state, &event?, chunks)?;
    }
    Ok(state)
}
