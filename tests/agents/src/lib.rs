//! Real coding agents against a scripted model, for tests of Milepost.
//!
//! [`Model`] is an HTTP service on the loopback interface. It answers as the services of Anthropic,
//! OpenAI and Google do, and follows the last prompt, one directive a request:
//!
//! ```text
//! [[say TEXT]]                 a text; before a call, together with it
//! [[write PATH TEXT]]          a file of the project; `\n` is an end of a line
//! [[shell COMMAND]]            a command
//! [[par COMMAND && COMMAND]]   several commands in one answer
//! [[task {{shell COMMAND}}]]   a sub-agent with these directives
//! ```
//!
//! [`AgentHome`] is a home folder with a project, in which one of the programs of `package.json`
//! runs. `tests/agents/install FOLDER` installs them, and `MILEPOST_AGENTS` names the folder.
//! Without it tests say that they did not run; with `MILEPOST_AGENTS_REQUIRED=1` they fail.
//!
//! ```no_run
//! use milepost_agent_tests::{Agent, AgentHome};
//!
//! let program = std::path::Path::new("target/debug/milepost");
//! let Some(home) = AgentHome::new(Agent::ClaudeCode, program) else { return };
//! home.record_hooks();
//! home.prompt("[[shell echo a > a.txt]] [[say done]]").ok();
//! assert_eq!(home.events().len(), 6);
//! ```
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod home;
mod model;
mod skip;

pub use home::{AgentHome, AgentRun, AgentStarted};
pub use milepost_agents::Agent;
pub use model::{Model, ModelRequest};
pub use skip::{has_programs, skipped};
