//! Sessions of coding agents: a [`Recorder`] turns the documents of hooks and the session files of
//! agents into events, captures of the folder and marks.
//!
//! A hook reports the time of an event, and the session file has the conversation. Before each call
//! of a tool the recorder captures the folder and marks a checkpoint before the agent continues;
//! after a call it captures the folder while the model works. docs/AGENTS.md has the events.
//!
//! # Modules of the source
//!
//! ```text
//! recorder      the handle: documents to a thread, answers back
//! worker        that thread: one document after the other (late: documents that waited)
//! events        what is recorded for each kind of event
//! session       one session: its task, conversation and open calls
//! conversation  the lines of its file, or the documents of its hooks
//! documents     documents as events of the conversation
//! lineage       lineages of sessions
//! folder        captures of the project's folder
//! reach         paths that a call may change
//! process       the end of an agent's process
//! platform      calls that differ by system
//! options       options of a recorder
//! ```
//!
//! A module imports only modules below it.
//!
//! # Example
//!
//! ```
//! use std::path::Path;
//!
//! use milepost::clock::{Clock as _, SystemClock};
//! use milepost::{Engine, Options};
//! use milepost_agents::HookCall;
//! use milepost_sessions::{Recorder, RecorderOptions};
//!
//! let (project, engine) = (tempfile::tempdir().unwrap(), Engine::in_memory(Options::default())?);
//! std::fs::write(project.path().join("notes.md"), "alpha")?;
//! let recorder = Recorder::start(&engine, RecorderOptions::new(project.path(), "ana"))?;
//! let document = r#"{"hook_event_name":"PreToolUse","session_id":"s1","tool_name":"Bash",
//!     "tool_input":{"command":"rm notes.md"},"tool_use_id":"call-1"}"#;
//! let call = HookCall {
//!     agent: "claude-code".to_owned(),
//!     time_us: SystemClock.now_us(),
//!     payload: document.into(),
//!     is_cut: false,
//! };
//! recorder.take(call.with(project.path(), |_| None))?;
//! let point = engine.point("s1@call-1")?;
//! assert!(engine.captures().at(&point)?.is_some());
//! recorder.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod conversation;
mod documents;
mod events;
mod folder;
mod lineage;
mod options;
mod platform;
mod process;
mod reach;
mod recorder;
mod session;
mod worker;

pub use options::RecorderOptions;
pub use recorder::Recorder;
