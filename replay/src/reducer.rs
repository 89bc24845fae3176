//! Reducers, which fold events into a state.

use milepost_codec::{ChunkId, Error, ErrorKind, Result};

use crate::chunks::Chunks;
use crate::event::Event;

/// Folds events into a state, one at a time.
///
/// A reducer is a pure function: it does no I/O and uses neither clock nor randomness, so the same
/// events give the same state on every machine (promise I5). Caches are keyed by its name and
/// version: a change of its result or of its encoding needs a new version.
///
/// `apply` should be total: an event stays in the log, and if `apply` fails for it, no later state
/// can be computed. Errors are for chunks that cannot be put or got.
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
    /// The result of a fold.
    type State: Send + Sync + 'static;

    /// Returns a unique name, in the form `company.purpose`.
    fn name(&self) -> &str;

    /// Returns the version of the fold and of the encoding.
    fn version(&self) -> u32;

    /// Returns the state before the first event.
    fn initial(&self) -> Self::State;

    /// Applies one event to the state. After an error the state must not be used.
    fn apply(&self, state: &mut Self::State, event: &Event, chunks: &dyn Chunks) -> Result<()>;

    /// Encodes the state: equal states give equal bytes on every machine.
    fn encode(&self, state: &Self::State) -> Result<Vec<u8>>;

    /// Decodes a state. Fails with `Corrupt` if the bytes are not a state.
    fn decode(&self, bytes: &[u8]) -> Result<Self::State>;

    /// Encodes a state for a snapshot. Returns the bytes, and the chunks that they refer to. Parts
    /// that `chunks` can make again of events need not be in the bytes. Equal states give equal
    /// bytes.
    fn encode_snapshot(
        &self,
        state: &Self::State,
        chunks: &dyn Chunks,
    ) -> Result<(Vec<u8>, Vec<ChunkId>)> {
        let _ = chunks;
        Ok((self.encode(state)?, self.refers(state)))
    }

    /// Decodes a state from the bytes of [`Reducer::encode_snapshot`].
    fn decode_snapshot(&self, bytes: &[u8], chunks: &dyn Chunks) -> Result<Self::State> {
        let _ = chunks;
        self.decode(bytes)
    }

    /// Decodes a state of another version. Retention keeps states of trimmed events, which cannot
    /// be folded again. A reducer with a new version must decode the states of the previous one
    /// here.
    ///
    /// # Errors
    ///
    /// `Unsupported`: the method is not overridden.
    fn upgrade(&self, version: u32, bytes: &[u8]) -> Result<Self::State> {
        let _ = bytes;
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the state of reducer {} was kept by its version {version}, and version {} does \
                 not read it: implement Reducer::upgrade",
                self.name(),
                self.version()
            ),
        ))
    }

    /// Returns the bytes of the state that are in chunks. Together with the encoding they are the
    /// size of the state, which determines the distance of snapshots.
    fn bytes_in_chunks(&self, state: &Self::State) -> u64 {
        let _ = state;
        0
    }

    /// Returns the chunks that the state refers to. They are kept as long as the state. The chunk
    /// store finds the chunks that these refer to.
    fn refers(&self, state: &Self::State) -> Vec<ChunkId> {
        let _ = state;
        Vec::new()
    }
}

/// Applies events to a state, in order.
///
/// # Errors
///
/// The first error of the iterator or of [`Reducer::apply`].
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
