//! Settings of the allocator for a service, which runs for months and answers with large pieces.

// tidy: one call of one command

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::output::note;

/// The allocator reads them once, before `main`: huge pages would keep 2 MiB for the last few bytes
/// in them, and pieces of 1 MiB and more would stay with the process after they are freed.
const SETTINGS: [(&str, &str); 2] = [
    ("MIMALLOC_ALLOW_THP", "0"),
    ("MIMALLOC_ARENA_MAX_OBJECT_SIZE", "1024"),
];

/// Starts the same command again in this process, with the allocator's settings. Returns where
/// they are set already, by this or by the operator, and where that cannot be done.
pub fn start_again_with_settings() {
    let missing = |(name, _): &(&str, &str)| std::env::var_os(name).is_none();
    if !SETTINGS.iter().any(missing) {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let mut args = std::env::args_os();
    let mut again = Command::new(program);
    if let Some(name) = args.next() {
        again.arg0(name);
    }
    again.args(args).envs(SETTINGS.into_iter().filter(missing));
    let error = again.exec();
    note(&format!(
        "more memory is held than needed: cannot start again: {error}"
    ));
}
