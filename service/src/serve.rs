//! Operations in the same process.

// tidy: a trait

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
    /// Those of the engine, `Forbidden` and `TooMuch`.
    fn serve(self, view: &View<'_>) -> OperationResult<Self::Answer>;

    /// Returns the tag of the answer, of a read that has one. It is computed before the answer, so
    /// that what changes in between gets the next tag.
    ///
    /// # Errors
    ///
    /// As [`Serve::serve`].
    fn tag(&self, _view: &View<'_>) -> OperationResult<Option<Tag>> {
        Ok(None)
    }

    /// Returns true if the answer is complete, and has its tag. A read may stop before its end.
    fn is_complete(&self, _answer: &Self::Answer) -> bool {
        true
    }
}
