//! Calls that differ by system. `--cfg milepost_portable` selects `posix` on Linux too.

// tidy: it only chooses

#[cfg(all(target_os = "linux", not(milepost_portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
mod posix;

#[cfg(all(target_os = "linux", not(milepost_portable)))]
pub use linux::PATH_MAX;
#[cfg(all(target_os = "linux", not(milepost_portable)))]
pub(super) use linux::{short_name, user_at};
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
pub use posix::PATH_MAX;
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
pub(super) use posix::{short_name, user_at};

/// Keeps a short name valid: the open folder, or a folder with a link to it.
#[cfg(all(target_os = "linux", not(milepost_portable)))]
pub(super) use std::fs::File as Held;
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
pub(super) use tempfile::TempDir as Held;
