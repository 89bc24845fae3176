//! The caller of a handle: the context of its events, and the flag that cancels its calls. Every
//! handle that comes from an engine has them.

use std::sync::Arc;

use milepost_codec::{Error, Head, LogId, Origin, Result};

use super::engine::Engine;
use crate::cancel::Cancel;
use crate::commit::append::Append;
use crate::commit::committer::LogAppend;
use crate::conditions::Conditions;
use crate::context::Context;
use crate::handles::view::View;
use crate::history::catalog::Catalog;

impl Engine {
    /// Returns a handle on the same store for a caller. Events that are appended by it, and by all
    /// handles that come from it, have the context's values where they have none of their own, and
    /// so do `milepost::audit` messages. For the events of a restore, an undo, a cleanup or an
    /// erasure there is no other way to set them.
    #[must_use]
    pub fn with_context(&self, context: Context) -> Self {
        Self::of(self.with(Some(Arc::new(context)), &self.cancel))
    }

    /// Returns a handle on the same store whose calls a flag cancels, in place of the flag that it
    /// carried before.
    #[must_use]
    pub fn with_cancel(&self, cancel: &Cancel) -> Self {
        Self::of(self.with(self.context.clone(), cancel))
    }
}

impl View {
    /// Returns the flag that cancels the calls of the handle.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Returns the catalog, for reads that the flag ends.
    pub(crate) fn catalog(&self) -> Catalog {
        self.inner.catalog.cancelled_by(&self.cancel)
    }

    /// Returns the context of the caller.
    pub(crate) fn context(&self) -> &Context {
        self.context.as_deref().unwrap_or(&Context::NONE)
    }

    /// Creates an append to a log that exists, with events of the caller.
    pub(crate) fn log_append(&self, log: LogId, origin: Origin) -> LogAppend {
        LogAppend::new(log, origin, self.inner.entropy.seed()).context(self.context.as_ref())
    }

    /// Creates an append that opens a log at its root.
    pub(crate) fn opening_append(&self, log: LogId, origin: Origin) -> LogAppend {
        let hash = self.inner.catalog.chain(origin, log).root();
        self.log_append(log, origin).open(Head { next: 0, hash })
    }

    /// Adds the events of an append to records, without its mark.
    pub(crate) fn with_events_of(&self, append: &Append, mut to: LogAppend) -> Result<LogAppend> {
        let inner = &self.inner;
        append.encode(&mut to, inner.catalog.log(), inner.now_us(), inner.options.event_max)?;
        Ok(to)
    }

    /// Adds the mark of an append to records.
    pub(crate) fn with_mark_of(&self, append: &Append, to: LogAppend) -> Result<LogAppend> {
        let Some(mark) = append.marked() else { return Ok(to) };
        if mark.offset().is_some() {
            let why = "a mark that is appended with events follows them, and has no offset";
            return Err(Error::invalid(why));
        }
        if *mark.under() != Conditions::default() {
            let why = "a mark that is appended with events has the conditions of the append";
            return Err(Error::invalid(why));
        }
        Ok(to.mark(mark.draft(self.context(), None, self.inner.now_us())?))
    }
}
