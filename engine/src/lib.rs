//! Milepost: an embeddable, event-sourced, append-only log for programs that work in iterations.
//!
//! Every step of a run is appended as a checksummed, chained event. The log is the only truth:
//! state is a fold over it, a checkpoint is a mark on an offset, and going back is opening a new
//! lineage at an offset, so that even going back can be undone.
//!
//! ```text
//! engine.rs  task.rs  lineage.rs      the handles users work with
//! append.rs  checkpoint.rs  ticket.rs what goes in
//! read/  subscribe.rs    state.rs     what comes out
//! restore.rs                          going back
//! blame.rs  bisect.rs                 which event it was
//! retention/  base.rs  live.rs        what is kept, and what goes
//! carry/                              tasks from one store into another
//! control.rs  run/  hook/             what an iteration engine needs around its log
//! given_up.rs                          reads that nobody waits for
//! conditions.rs                       done once under a key, onto an expected head
//! behalf.rs  audit.rs                 for whom something is done; who did what, for those who listen
//! meters/  metrics.rs                 how much was done, and how long it took
//! query.rs  catalog.rs  index/        finding things
//! address.rs  point.rs                naming them
//! scoped.rs                           what one user sees of them
//! committer/                          many callers, one order, one sync
//! log/                                where it is kept: the seam, in memory, in a folder
//! snapshotter.rs  kept.rs  pieces.rs  states that are nearer: on disk, in memory
//! hashes.rs  whole.rs                 the chain at a point, and whether a checkpoint fits it
//! proof.rs  verify/  anchor.rs        what proves a store
//! opened.rs  repair.rs  supervisor/   what was damaged, and what to do when the disk fails
//! ```
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
//! let run = engine.restore(&engine.point("tuning@step-2")?, Some("step 3 went wrong"))?;
//! assert_eq!(run.last_successful()?.and_then(|c| c.label).as_deref(), Some("step-2"));
//! engine.undo("tuning")?;
//! engine.close()?;
//! # Ok::<(), milepost::Error>(())
//! ```

mod address;
mod anchor;
mod append;
mod audit;
mod base;
mod behalf;
mod bisect;
mod blame;
mod carry;
mod catalog;
mod checkpoint;
mod chunk_store;
mod committer;
mod conditions;
mod control;
mod dedup;
mod engine;
mod follow;
#[cfg(not(shuttle))]
mod followers;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod given_up;
mod going_back;
mod hashes;
mod hook;
mod joined;
mod kept;
mod lineage;
mod metrics;
mod options;
mod participant;
mod pending;
mod pieces;
mod point;
mod proof;
mod query;
mod read;
mod repair;
mod restore;
mod retention;
mod run;
mod scoped;
mod snapshotter;
mod spacing;
mod state;
mod stats;
mod subscribe;
mod supervisor;
mod task;
#[cfg(all(test, not(shuttle)))]
mod tests;
mod ticket;
mod verify;
mod whole;

pub use address::{Address, Place};
pub use anchor::{Anchor, AnchoredLog};
pub use append::{Append, Appended};
pub use behalf::on_behalf_of;
pub use bisect::{Bisect, Verdict};
pub use blame::{Blame, Blamed};
pub use carry::{Carried, CarriedBody, CarriedChunk, CarriedEvent, CarriedTask, Export, Import};
pub use checkpoint::{Checkpoint, Mark};
pub use chunk_store::{ChunkHold, ChunkStore};
pub use conditions::Conditions;
pub use engine::Engine;
pub use follow::{Followed, Follower, Moved};
#[cfg(not(shuttle))]
pub use followers::Followers;
pub use given_up::unless_given_up;
pub use hook::{
    Alert, AlertKind, CommandHook, CommandHooks, Hook, HookPoint, StoreHooks, StoreTrust, TaskId,
    WorkspaceChange, WorkspaceState,
};
pub use joined::Joined;
pub use kept::{KeepStates, KeptStates};
pub use lineage::{Lineage, LineageInfo};
pub use metrics::Metrics;
pub use milepost_store::clock::{Clock, ManualClock, SystemClock};
pub use milepost_store::entropy::new_secret;
pub use milepost_store::files::own::check_store;
pub use milepost_store::files::replace as replace_file;
pub use milepost_store::log::{CompactionStep, DiskBytes, EventPlace, Fault};
pub use milepost_store::meters::Histogram;
pub use milepost_store::opened::{Finding, OpenReport, Outcome, Progress};
pub use options::Options;
pub use participant::{Capturing, Going, Participant, Stand};
pub use pending::{PastRestore, PendingRestore};
pub use point::Point;
pub use query::{CheckpointQuery, Page, TaskInfo, TaskQuery};
pub use read::Events;
pub use repair::{LostEvents, RepairReport, repair};
pub use retention::{
    CapturesPlan, CompactionPlan, CompactionReport, Pin, Retention, RetentionPlan, RetentionReport,
    TaskPlan, TaskRetained,
};
pub use run::{
    Access, EveryPhase, EverySteps, FailedSave, Moment, Never, Occasion, Policy, Risk, Run,
    RunOptions, RunStats, Touches, Turn,
};
pub use scoped::Scoped;
pub use stats::{Stats, TaskStats};
pub use subscribe::{SubscribeOptions, Subscription};
pub use supervisor::{Accepted, Degraded, DegradedStats, Health, Supervisor};
pub use task::Task;
pub use ticket::Ticket;
pub use verify::VerifyReport;

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
    Change, ChangeKind, Changes, ChangesMax, Chunks, Document, Entry, Event, Guidance, LastError,
    MemoryChunks, MessageRange, OpenCall, Reducer, RunReducer, RunState, Sequence, Step,
    StepStatus, diff, diff_states, diff_states_up_to, fold, to_patch, transition,
};
