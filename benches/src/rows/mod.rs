//! Rows of the design's table of targets, each measured with its alternatives in one run.

mod append;
mod commands;
mod guards;
mod history;
mod hooks;
mod load;
mod retention;
mod sessions;
pub mod workspace;

pub use append::{batches, one_writer, writers_64};
pub use commands::commands;
pub use guards::{guards, rebuild, verify};
pub use history::{checkpoint_and_fork, open, state, states};
pub use hooks::{agent_session, hooks};
pub use load::{bulk_load, memory, same_result};
pub use retention::{cleanup, listing};
pub use sessions::sessions;

use std::path::Path;

use milepost::{Engine, Options, Task};

/// A store with one task in a folder.
pub fn store(dir: &Path) -> (Engine, Task) {
    let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
    let task = engine.start_task("bench", "bench").unwrap();
    (engine, task)
}

/// A folder of its own, in the current one or in `MILEPOST_BENCH_DIR`.
pub fn folder() -> tempfile::TempDir {
    let dir = std::env::var_os("MILEPOST_BENCH_DIR");
    let dir = dir.map_or_else(|| std::env::current_dir().unwrap(), Into::into);
    tempfile::Builder::new().prefix(".bench-").tempdir_in(dir).unwrap()
}
