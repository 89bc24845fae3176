//! Operations in the same process.

use milepost_api::Call;

use crate::error::OperationResult;
use crate::tag::Tag;
use crate::view::View;

/// An operation that this crate performs.
pub trait Serve: Call {
    /// Performs the operation on an engine as one caller sees it.
    ///
    /// ```
    /// use milepost::{Engine, Mark, Options};
    /// use milepost_api::calls::Pins;
    /// use milepost_service::{Serve, View};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let marked = engine.start_task("essay", "ana")?.checkpoint(Mark::new())?;
    /// engine.retention().pin(&marked.id, None)?;
    /// let pins = Pins::new("essay").serve(&View::new(&engine, None, None))?;
    /// assert_eq!(pins.items[0].checkpoint, marked.id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Errors of the engine, `Forbidden` and `TooMuch`.
    fn serve(self, view: &View<'_>) -> OperationResult<Self::Answer>;
}

/// A read whose answer has a tag. It resolves its request once, so that tag and answer describe the
/// same state.
pub trait ServeTagged: Serve {
    /// The parts of the answer.
    type Seen;

    /// Checks and resolves the request, and returns the tag of the answer.
    ///
    /// # Errors
    ///
    /// As [`Serve::serve`].
    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, Self::Seen)>;

    /// Returns the answer.
    ///
    /// # Errors
    ///
    /// As [`Serve::serve`].
    fn answer(&self, view: &View<'_>, seen: Self::Seen) -> OperationResult<Self::Answer>;

    /// Returns true if the answer is complete, and has its tag. A read may stop before its end.
    fn is_complete(&self, _answer: &Self::Answer) -> bool {
        true
    }
}

/// Serves tagged reads without their tags.
macro_rules! serve_tagged {
    ($($call:ty),+) => {$(
        impl Serve for $call {
            fn serve(self, view: &View<'_>) -> OperationResult<Self::Answer> {
                let (_, seen) = self.see(view)?;
                self.answer(view, seen)
            }
        }
    )+};
}

pub(crate) use serve_tagged;
