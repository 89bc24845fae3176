//! Calls that differ by system. `--cfg milepost_portable` selects `posix` on Linux too.

// tidy: it only chooses

#[cfg(all(target_os = "linux", not(milepost_portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
mod posix;

#[cfg(all(target_os = "linux", not(milepost_portable)))]
pub(crate) use linux::{wait_for_end, watch};
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
pub(crate) use posix::{wait_for_end, watch};
