//! Tests that do not run on this machine.

use std::fmt::Display;
use std::io::Write as _;

/// Prints a line that the harness does not capture.
pub fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Prints that the test of this thread does not run here, and why.
pub fn skipped(why: impl Display) {
    let thread = std::thread::current();
    say(&format!("skipped: {}: {why}", thread.name().unwrap_or("a test")));
}

/// Returns `true` if these programs are on the path; prints what is missing otherwise.
///
/// # Panics
///
/// If one is missing and `MILEPOST_TOOLS_REQUIRED` is 1.
pub fn has_programs(names: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_there(name)).collect();
    if missing.is_empty() {
        return true;
    }
    let missing = missing.join(", ");
    let required = std::env::var_os("MILEPOST_TOOLS_REQUIRED").is_some_and(|value| value == "1");
    assert!(!required, "missing: {missing}");
    skipped(format_args!("missing: {missing}"));
    false
}
