//! The state of an open store, shared by its handles.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use milepost_codec::{Hash, LineageId, Origin, Result, TaskNo};
use milepost_store::entropy::Entropy;
use milepost_store::metrics::Meters;
use milepost_store::open_report::OpenReport;
use milepost_store::sync::channel::Sender;
use parking_lot::{Mutex, MutexGuard};

use super::hooks::{LastChanges, OpenHooks};
use super::options::Options;
use super::participation::Participants;
use super::run_control::RunControls;
use crate::commit::committer::{BackgroundJob, CommitResult, Committer, Request};
use crate::history::catalog::Catalog;
use crate::history::chain_hash::Hashes;
use crate::history::state_cache::StateCache;
use crate::verification::anchor::AnchorWriter;

/// The state of an open store.
pub(crate) struct Inner {
    pub(crate) catalog: Catalog,
    pub(crate) committer: Arc<Committer>,
    pub(crate) options: Options,
    pub(crate) entropy: Arc<Entropy>,
    pub(super) opened: OpenReport,
    pub(crate) store: Origin,
    /// Held while tasks and lineages are opened and activated, so that each number is used once.
    pub(crate) structure: Mutex<()>,
    pub(crate) controls: RunControls,
    pub(crate) kept: StateCache,
    pub(crate) participants: Arc<Participants>,
    pub(crate) meters: Arc<Meters>,
    pub(super) jobs: Sender<BackgroundJob>,
    pub(super) anchor: Mutex<Option<Anchoring>>,
    pub(crate) workspaces: LastChanges,
    pub(super) hooks: Mutex<Option<OpenHooks>>,
    /// Set if the hooks were ended before the close.
    pub(super) hooks_ended: AtomicBool,
    pub(super) threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The thread that keeps an anchor up to date.
pub(super) struct Anchoring {
    pub(super) writer: Arc<AnchorWriter>,
    pub(super) stop: crossbeam_channel::Sender<()>,
    pub(super) thread: JoinHandle<()>,
}

impl Inner {
    /// Locks the structure: no other thread can open, activate or trim tasks and lineages.
    pub(crate) fn structure(&self) -> Result<MutexGuard<'_, ()>> {
        self.catalog.log().owner().check()?;
        self.catalog.log().check_writable()?;
        Ok(self.structure.lock())
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.options.log.clock.now_us()
    }

    /// Returns the chain hash of a lineage before an offset.
    pub(crate) fn hash_at(&self, task: TaskNo, lineage: LineageId, offset: u64) -> Result<Hash> {
        Hashes::of(&self.catalog).of_lineage(task, lineage, offset)
    }

    /// Handles an erasure, a trim or a deletion of a task's content: drops its cached states, and
    /// makes every reader of the task, also a waiting one, check again before it returns the next
    /// event.
    pub(crate) fn withdraw(&self, task: TaskNo) {
        self.kept.forget(task);
        self.catalog.forget_pieces(task);
        self.catalog.forget_lineages(task);
        self.catalog.withdrew();
        self.committer.wake_task(task);
        self.controls.wake(task);
    }

    pub(crate) fn commit(&self, request: impl Into<Request>) -> Result<CommitResult> {
        self.committer.commit(request.into())
    }

    pub(super) fn end_hooks(&self) {
        // The lock is released before hooks run: one may close the store.
        let hooks = self.hooks.lock().take();
        if let Some(hooks) = hooks {
            hooks.stop();
            self.hooks_ended.store(true, Ordering::SeqCst);
        }
    }

    pub(super) fn close(&self) -> Result<()> {
        self.catalog.log().owner().check()?;
        self.committer.close();
        if self.hooks_ended.swap(false, Ordering::SeqCst) {
            // A checkpoint may have been marked since.
            self.options.hooks.flush(self.options.hooks_at_close);
        } else if let Some(hooks) = self.hooks.lock().take() {
            hooks.stop();
        }
        let _ = self.jobs.send(BackgroundJob::Stop);
        let mut threads = self.threads.lock();
        for thread in threads.drain(..) {
            let _ = thread.join();
        }
        let anchored = match self.anchor.lock().take() {
            Some(anchoring) => {
                let _ = anchoring.stop.send(());
                let _ = anchoring.thread.join();
                anchoring.writer.write()
            }
            None => Ok(()),
        };
        let closed = self.catalog.log().close();
        self.controls.wake_all();
        closed.and(anchored)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.catalog.log().owner().is_elsewhere() {
            // The threads and the store belong to the parent process.
            std::mem::forget(Arc::clone(self.catalog.log()));
            std::mem::forget(Arc::clone(&self.committer));
            std::mem::forget(self.hooks.get_mut().take());
            std::mem::forget(self.anchor.get_mut().take());
            return;
        }
        let _ = self.close();
    }
}
