//! Calls that only Linux has.

// tidy: one of them

use std::path::Path;

/// Returns `true` if a process may still run.
pub(crate) fn may_run(pid: u32) -> bool {
    let processes = Path::new("/proc");
    !processes.exists() || processes.join(pid.to_string()).exists()
}
