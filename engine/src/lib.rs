//! Milepost: an embeddable, event-sourced, append-only log for programs that work in iterations.
//!
//! Every step of a run is appended as a checksummed, chained event. The log is the only source of
//! truth: state is a fold over it, and a checkpoint is a mark on an offset. A restore opens a new
//! lineage at an offset, so that the restore itself can be undone.
//!
//! [`Engine`] opens a store, starts tasks, reads states, and restores points. [`Task`] appends
//! events and marks checkpoints. Other operations are grouped by area:
//!
//! | call | operations |
//! |---|---|
//! | [`engine.query()`](View::query) | lists of tasks and checkpoints, blame, bisect |
//! | [`task.control()`](Task::control) | control of a run: pause, resume, stop, waits |
//! | [`engine.restores()`](Engine::restores) | pending and past restores, participants |
//! | [`engine.captures()`](Engine::captures) | captures of folders |
//! | [`engine.retention()`](Engine::retention) | pins, cleanup, deletion, erasure, compaction |
//! | [`engine.integrity()`](Engine::integrity) | verification, anchors |
//! | [`engine.transfer()`](Engine::transfer) | export and import of tasks |
//! | [`engine.store()`](Engine::store) | report of the opening, statistics, metrics, chunks |
//!
//! [`repair::repair`] rebuilds a damaged store. The crate `milepost-runtime` drives a task step by
//! step (`Run`), accepts appends while the disk fails (`FailoverEngine`), and calls commands as
//! hooks (`CommandHooks`).
//!
//! # Modules of the source
//!
//! ```text
//! repair             rebuilds a damaged store
//! restore/  retention/  transfer/  query/
//!                    forks, removal, tasks between stores, blame and bisect
//! handles/           the engine, tasks, lineages, views, hooks
//! verification/      verification and anchors
//! commit/            appends, the committer, watches
//! history/           reads of tasks, lineages, events, states, checkpoints
//! context  conditions  cancel
//!                    a call: its context, its conditions, its cancellation
//! milepost-store     logs of records on disk
//! ```
//!
//! A module imports only modules below it.
//!
//! # Example
//!
//! ```
//! use milepost::{Engine, Mark, Options, events::{StepFinished, StepStarted}};
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let dir = dir.path().join(".milepost");
//! let engine = Engine::open(dir, Options::default())?;
//! let run = engine.start_task("tuning", "ana")?;
//! for step in 1..=3 {
//!     run.append(StepStarted { step, ..Default::default() })?;
//!     run.append(StepFinished { step, ..Default::default() })?; // durable when it returns
//!     run.checkpoint(Mark::new().label(format!("step-{step}")))?;
//! }
//! let second = engine.point("tuning@step-2")?;
//! let run = engine.restore(&second).description("step 3 went wrong").run()?;
//! assert_eq!(run.last_successful()?.and_then(|c| c.label).as_deref(), Some("step-2"));
//! engine.undo("tuning").run()?;
//! engine.close()?;
//! # Ok::<(), milepost::Error>(())
//! ```

mod cancel;
mod commit;
mod conditions;
mod context;
mod handles;
mod history;
pub mod query;
pub mod repair;
pub mod restore;
pub mod retention;
#[cfg(all(test, not(shuttle)))]
mod tests;
pub mod transfer;
mod verification;

pub use commit::append::Append;
pub use commit::appended::{Appended, KeyedEvent};
pub use commit::subscribe::Subscription;
pub use handles::append::IntoAppend;
pub use handles::engine::Engine;
pub use handles::hooks::Hook;
pub use handles::lineage::Lineage;
pub use handles::options::Options;
pub use handles::participant::Participant;
pub use handles::task::Task;
pub use handles::ticket::Ticket;
pub use handles::view::View;
pub use history::address::Address;
pub use history::checkpoint::{Checkpoint, Mark};
pub use history::events::Events;
pub use history::point::Point;
pub use milepost_codec::{
    Body, CheckpointId, Detail, Error, ErrorKind, Hash, Header, Json, LineageId, Offset, Result,
    Scope, StoreKey,
};
pub use milepost_replay::{Event, Reducer, RunState, SerdeReducer};
pub use restore::builder::Restore;

/// Entry points of the fuzz targets.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use milepost_store::local::{read_archive, survey_segment};
}

/// Bodies of events, and their fields.
pub mod events {
    pub use crate::handles::attachments::Attachment;
    pub use milepost_codec::{
        Application, ArtifactsEdited, CheckpointAttached, CheckpointMarked, CheckpointUnmarked,
        ContextChanged, Control, ControlChanged, CopiedFrom, Data, DataAttached, Extra, FilesKept,
        Float, GuidanceGiven, LineageBegin, LineageOpened, LineageType, MarkCause, MarkStatus,
        Message, Parent, PatchForm, PhaseChanged, PromptChanged, RestoreBegun, Restored,
        RulesChanged, RunControl, StepFailed, StepFinished, StepStarted, ToolCalled, ToolReturned,
        VariablesPatched, WorkspaceCaptured,
    };
}

/// Ids and numbers of stores, tasks and logs, and the heads of logs.
pub mod ids {
    pub use milepost_codec::{ChunkId, Epoch, Head, LogKind, Origin, Seq, StoreId, TaskNo};
}

/// States: reducers, documents, sequences, differences, passes over checkpoints, and the cache of
/// states.
pub mod state {
    pub use crate::handles::messages::Messages;
    pub use crate::handles::states::States;
    pub use crate::history::state_cache::{StateCacheOptions, StateCacheStats};
    pub use milepost_replay::{
        Change, ChangeKind, ChangeLimits, Changes, Chunks, Document, Entry, Guidance, LastError,
        MemoryChunks, MessageRange, OpenCall, RunReducer, Sequence, Step, StepStatus, diff,
        diff_states, diff_states_up_to, fold, text_value, to_patch, transition,
    };
}

/// A run as a person reads it: rows, turns, usage, summaries, outcomes and alignments. See
/// `docs/READING.md`.
pub mod reading {
    pub use crate::history::summary::{LineageSummary, TaskSummary};
    pub use milepost_reading::{
        AlignOptions, Aligned, AlignedOp, HistoryMap, Items, MIXED_CURRENCIES, MetricBucket,
        MetricRange, OUTCOME_POINTERS, Outcome, OverviewBucket, Resume, Summary, TEXT_MAX, Turn,
        TurnCall, TurnMark, Turns, Usage, UsageSum, align, command_text, common, row,
    };
}

/// Subscriptions to a lineage, and followers of a task across restores.
pub mod subscribe {
    pub use crate::commit::subscribe::SubscribeOptions;
    pub use crate::handles::follow::{FollowFrom, Followed, Follower, LineageChanged};
    #[cfg(not(shuttle))]
    pub use crate::handles::followers::Followers;
}

/// Hooks: code that checkpoints, restores, events and alerts call.
pub mod hooks {
    pub use crate::handles::hooks::{
        Alert, AlertKind, HookContext, TaskId, WorkspaceChange, WorkspaceState,
    };
}

/// Counts and durations of a store, and its size on the disk.
pub mod metrics {
    pub use crate::history::stats::Stats;
    pub use milepost_store::DiskBytes;
    pub use milepost_store::metrics::{Histogram, Metric, Metrics, Value};
}

/// Clocks for the times of events: the system's, and one that is set by hand.
pub mod clock {
    pub use milepost_store::clock::{Clock, ManualClock, SystemClock};
}

/// The control of runs, and waits for it.
pub mod control {
    pub use crate::handles::run_control::TaskControl;
}

/// Settings of calls: the context of their events, their conditions, and their cancellation.
pub mod calls {
    pub use crate::cancel::Cancel;
    pub use crate::conditions::Conditions;
    pub use crate::context::Context;
}

/// The store of an engine: the report of its opening, and its chunks, which participants use.
pub mod store {
    pub use crate::handles::chunk_store::{ChunkHold, ChunkStore};
    pub use crate::handles::store::Store;
    pub use milepost_store::open_report::{Finding, OpenReport, Outcome, Progress, Repair};
}

/// Integrity of a store: verification and anchors.
pub mod integrity {
    pub use crate::handles::proof::Integrity;
    pub use crate::verification::anchor::{Anchor, AnchoredLog};
    pub use crate::verification::verify::VerifyReport;
    pub use milepost_store::{EventPlace, Fault};
}

/// Limits of texts, in bytes.
pub mod limits {
    pub use milepost_codec::{ALIASES_BYTES_MAX, ID_MAX, METADATA_MAX, NAME_MAX, TEXT_MAX};
}

/// Helpers that the other crates of Milepost share.
#[doc(hidden)]
pub mod internals {
    pub use crate::handles::lineage::engine_of;
    pub use milepost_codec::{check_size, json_reason};
    pub use milepost_store::entropy::{Entropy, new_secret};
    pub use milepost_store::files::own::check_store;
    pub use milepost_store::files::{
        io as io_error, open_rw, replace as replace_file, write_whole as write_file,
    };
    pub use milepost_store::local::{store_id, store_key_id};
    pub use milepost_store::metrics::DegradedMeters;
    pub use milepost_store::process::Owner;
    pub use milepost_store::threads;
}
