//! Parts for programs around a [`milepost`] engine: the run of an iteration engine, failover, and
//! external commands as hooks. The crate uses the engine's public interface.
//!
//! | item | purpose |
//! |---|---|
//! | [`Run`] | drives a task step by step: run control, checkpoints by a policy, work done once |
//! | [`failover::FailoverEngine`] | keeps accepting appends while the disk fails |
//! | [`Keyring`] | keeps keys and anchors of a user's stores, outside of the stores |
//! | [`hooks::CommandHooks`] | calls external commands at checkpoints, restores, events, alerts |
//!
//! An engine alone starts no programs and reads no configuration. A program adds the commands of
//! `hooks.json` to the options of its store:
//!
//! ```no_run
//! use milepost::{Engine, Options};
//! use milepost_runtime::hooks::CommandHooks;
//!
//! let hooks = CommandHooks::for_store(".milepost")?;
//! let engine = Engine::open(".milepost", hooks.add_to(Options::default())?)?;
//! # let _ = engine;
//! # Ok::<(), milepost::Error>(())
//! ```
//!
//! A [`Run`] holds a task, and so keeps its store open. The commands do not. A
//! [`failover::FailoverEngine`] opens its store itself.
//!
//! # Modules of the source
//!
//! ```text
//! run/       the loop of an iteration
//! failover/  appends while the disk fails
//! hooks/     commands, `hooks.json`, trust
//! keyring    keys and anchors of a user's stores
//! ```
//!
//! The modules import of each other only the user's folders.

pub mod failover;
pub mod hooks;
mod keyring;
pub mod run;

pub use keyring::Keyring;
pub use run::{Run, RunOptions};
