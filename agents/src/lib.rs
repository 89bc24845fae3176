//! Coding agents in the terminal: their settings, their hooks, and the documents that hooks get.
//!
//! [`settings`] puts hooks of Milepost into an agent's settings and takes them out again, and keeps
//! every other byte. A [`Guard`] is the text of the command that an agent runs. [`documents`] reads
//! the documents of hooks. [`Spool`] keeps such documents until they are recorded.
//!
//! Nothing here prints or reads the environment: an [`Environment`] has the variables that count.
//!
//! # Modules of the source
//!
//! ```text
//! settings     edits of settings, and the files they are in
//! documents    documents of hooks to events
//! hook         a document with its circumstances
//! spool        documents that wait, one file each
//! hook_times   times of the calls of hooks
//! guard        the command of a hook
//! agent        the agents: their events, places and differences
//! environment  variables that name places
//! json         JSON text, with the places of its parts
//! platform     calls that differ by system
//! error        errors: the place, the reason, the next step
//! ```
//!
//! A module imports only modules below it.
//!
//! # Example
//!
//! ```
//! use milepost_agents::{Agent, settings};
//!
//! let before = "{\n  \"model\": \"opus\"\n}\n";
//! let program = std::path::Path::new("/usr/bin/milepost");
//! let edited = settings::install(before, Agent::ClaudeCode, program).unwrap();
//! assert_eq!(edited.events.len(), 11);
//! assert_eq!(settings::uninstall(&edited.text).unwrap().text, before);
//! ```

mod agent;
pub mod documents;
mod environment;
mod error;
mod guard;
mod hook;
mod hook_times;
mod json;
mod platform;
pub mod settings;
mod spool;

pub use agent::{Agent, HookFile, SettingsScope};
pub use environment::Environment;
pub use error::Error;
pub use guard::Guard;
pub use hook::{HOOK_WAIT, HookCall, PROJECTS, project, project_of, real};
pub use hook_times::{HookTimes, TimedHook, percentile_us};
pub use spool::{Spool, SpoolResult};
