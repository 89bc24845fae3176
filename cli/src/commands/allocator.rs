//! Settings of the allocator for a service, which runs for months and sends large answers.

// tidy: one call of one command

use std::os::unix::process::CommandExt as _;

use crate::output::note;
use crate::program::{self, Program};

/// Variable that the allocator reads once, before `main`.
pub const VARIABLE: &str = "_RJEM_MALLOC_CONF";

/// Settings with which freed pages return to the system within 100 ms. One arena serves all
/// threads: each further one would keep pages that the others could use. Small pieces come from
/// caches of the threads.
pub const SETTINGS: &str = "narenas:1,dirty_decay_ms:100,muzzy_decay_ms:0,tcache_max:4096";

/// Executes the same command again in this process, with the allocator's settings. Returns if they
/// are set already, by this function or by the operator, if this process has another allocator, or
/// if the execution fails.
pub fn start_again_with_settings() {
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let Some(program) = program::current().ok().filter(Program::has_allocator) else {
        return;
    };
    let mut args = std::env::args_os();
    let mut again = program.command();
    if let Some(name) = args.next() {
        again.arg0(name);
    }
    let error = again.args(args).env(VARIABLE, SETTINGS).exec();
    note(&format!("more memory is held than needed: cannot start again: {error}"));
}
