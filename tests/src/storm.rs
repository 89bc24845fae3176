//! Random programs over the whole public API, run on a store and on a plain model of it.
//!
//! ```text
//! program.rs  programs as plain data
//! draw.rs     their generator
//! call.rs     one step with its arguments named, and the answer to it
//! resolve.rs  from a step to a call: names, offsets and checkpoints from the model
//! run.rs      does a call on a store
//! model.rs    the model: the events, keys, checkpoints and lineages that were acknowledged
//! judge.rs    the answer that a call must get, and its effect on the model
//! fork.rs     the same for restores, branches and undo
//! keep.rs     the same for cleanups, erasures and deletions
//! check.rs    compares a whole store with the model
//! watch.rs    subscriptions, followers and iterators, and the events that they may give
//! count.rs    an embedder's reducer, which stops where it is told to
//! carry.rs    exports, imports, copies
//! damage.rs   damaged packs
//! mend.rs     repairs, and what they are for
//! reopen.rs   opens a store and compares it with the model
//! fault.rs    a life in a process of its own, under faults
//! lines.rs    the calls and answers of such a process
//! settle.rs   calls whose answers are not known
//! more.rs     files, runs, hooks, secrets: steps that the engine does much for
//! once.rs     calls under keys, and their repetitions
//! clock.rs    a clock that is set forward and back
//! part.rs     a participant of restores
//! begun.rs    the moment that a call began, and its end
//! acts.rs     does steps, one after another or in the middle of others
//! life.rs     runs a program from its beginning to its end
//! shrink.rs   drops steps from a program that fails
//! report.rs   counts
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

mod acts;
mod begun;
pub mod call;
mod carry;
pub mod check;
mod clock;
pub mod count;
mod damage;
mod draw;
pub mod fault;
mod fork;
mod judge;
mod keep;
pub mod life;
mod lines;
mod mend;
pub mod model;
mod more;
mod once;
mod part;
pub mod program;
mod reopen;
pub mod report;
mod resolve;
pub mod run;
mod settle;
pub mod shrink;
mod watch;
