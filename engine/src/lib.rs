//! Milepost: an embeddable, event-sourced, append-only log for programs that work in iterations.
//!
//! Every step of a run is appended as a checksummed, chained event. The log is the only source of
//! truth: state is a fold over it, and a checkpoint is a mark on an offset. A restore opens a new
//! lineage at an offset, so that the restore itself can be undone.
//!
//! ```text
//! failover/  run/    keeps appending while the disk fails; the loop of an iteration
//! repair             rebuilds a damaged store
//! restore/  retention/  transfer/  query/
//!                    forks, removal, tasks between stores, blame and bisect
//! handles/           the engine, tasks, lineages, views, hooks
//! integrity/         verification and anchors
//! commit/            appends, the committer, watches
//! history/           reads of tasks, lineages, events, states, checkpoints
//! context  given_up  the context of a call
//! milepost-store     logs of records on disk
//! ```
//!
//! A module imports only modules below it.
//!
//! # Example
//!
//! ```
//! use milepost::{Engine, Mark, Options, StepFinished, StepStarted};
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
//! let run = engine.restore(&engine.point("tuning@step-2")?).description("step 3 went wrong").run()?;
//! assert_eq!(run.last_successful()?.and_then(|c| c.label).as_deref(), Some("step-2"));
//! engine.undo("tuning").run()?;
//! engine.close()?;
//! # Ok::<(), milepost::Error>(())
//! ```

mod commit;
mod context;
mod failover;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod given_up;
mod handles;
mod history;
mod integrity;
mod query;
mod repair;
mod restore;
mod retention;
mod run;
#[cfg(all(test, not(shuttle)))]
mod tests;
mod transfer;

pub use commit::append::{Append, Appended};
pub use commit::conditions::Conditions;
pub use commit::subscribe::{SubscribeOptions, Subscription};
pub use context::with_context;
pub use failover::{Accepted, FailoverEngine, FailoverOptions, FailoverStats, Health};
pub use given_up::unless_given_up;
pub use handles::chunk_store::{ChunkHold, ChunkStore};
pub use handles::engine::Engine;
pub use handles::follow::{Followed, Follower, LineageChanged};
#[cfg(not(shuttle))]
pub use handles::followers::Followers;
pub use handles::hooks::{
    Alert, AlertKind, CommandHook, CommandHooks, Hook, HookPoint, StoreHooks, StoreTrust, TaskId,
    WorkspaceChange, WorkspaceState,
};
pub use handles::lineage::{Lineage, LineageInfo};
pub use handles::metrics::Metrics;
pub use handles::options::Options;
pub use handles::participant::{CaptureContext, Participant, PrepareContext};
pub use handles::participation::Participation;
pub use handles::task::Task;
pub use handles::ticket::Ticket;
pub use handles::view::Scoped;
pub use history::address::{Address, AddressTarget};
pub use history::checkpoint::{Checkpoint, Mark};
pub use history::events::Events;
pub use history::lists::{CheckpointQuery, Page, TaskInfo, TaskQuery};
pub use history::pending::{PendingRestore, RestoreRecord};
pub use history::point::Point;
pub use history::state_cache::{StateCacheOptions, StateCacheStats};
pub use history::stats::{Stats, TaskStats};
pub use integrity::anchor::{Anchor, AnchoredLog};
pub use integrity::verify::VerifyReport;
pub use milepost_store::clock::{Clock, ManualClock, SystemClock};
pub use milepost_store::entropy::new_secret;
pub use milepost_store::files::own::check_store;
pub use milepost_store::files::replace as replace_file;
pub use milepost_store::metrics::Histogram;
pub use milepost_store::open_report::{Finding, OpenReport, Outcome, Progress};
pub use milepost_store::{CompactionStep, DiskBytes, EventPlace, Fault};
pub use query::bisect::{Bisect, Verdict};
pub use query::blame::{Blame, Blamed};
pub use repair::{LostEvents, RepairReport, repair};
pub use restore::builder::Restore;
pub use retention::{
    CapturesPlan, CompactionPlan, CompactionReport, Pin, Retention, RetentionPlan, RetentionReport,
    TaskPlan, TaskRetained,
};
pub use run::{
    Access, EveryPhase, EverySteps, FailedSave, Never, Policy, Risk, Run, RunOptions, RunStats,
    SafePoint, ToolEffects, Trigger, TriggerContext,
};
pub use transfer::{Export, ExportBody, ExportChunk, ExportEvent, ExportItem, ExportTask, Import};

pub use milepost_codec::{
    Application, ArtifactsEdited, Body, CheckpointAttached, CheckpointId, CheckpointMarked,
    CheckpointUnmarked, ChunkId, ContextChanged, Control, ControlChanged, CopiedFrom, Data, Detail,
    Epoch, Error, ErrorKind, Extra, Float, GuidanceGiven, Hash, Head, Header, Json, LineageBegin,
    LineageId, LineageOpened, LineageType, LogKind, METADATA_MAX, MarkCause, MarkStatus, Message,
    NAME_MAX, Offset, Origin, Parent, PatchForm, PhaseChanged, PromptChanged, RestoreBegun,
    Restored, Result, RulesChanged, RunControl, Scope, Seq, StepFailed, StepFinished, StepStarted,
    StoreId, StoreKey, TEXT_MAX, TaskNo, ToolCalled, ToolReturned, VariablesPatched,
    WorkspaceCaptured, check_size,
};
pub use milepost_replay::{
    Change, ChangeKind, ChangeLimits, Changes, Chunks, Document, Entry, Event, Guidance, LastError,
    MemoryChunks, MessageRange, OpenCall, Reducer, RunReducer, RunState, Sequence, Step,
    StepStatus, diff, diff_states, diff_states_up_to, fold, to_patch, transition,
};
