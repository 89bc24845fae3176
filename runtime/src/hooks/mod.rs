//! External commands as hooks: `docs/HOOKS.md` describes them.
//!
//! ```text
//! command   a command as declared
//! config    `hooks.json` and its location
//! trust     a user's trust in the `hooks.json` of a store
//! stores    a user's trust in a store
//! runner    runs a command for each notification
//! queue     commands that wait for the thread that runs them
//! document  the JSON on the standard input of a command
//! process   runs a program with a time limit
//! ```

// tidy: names the parts
mod command;
mod config;
mod document;
mod process;
mod queue;
mod runner;
mod stores;
mod trust;

pub use command::{CommandHook, HookPoint};
pub use config::{CommandHooks, user_data_folder, user_state_folder};
pub use stores::StoreTrust;
pub use trust::StoreHooks;
