//! Calls that differ by system. `--cfg milepost_portable` selects `posix` on Linux too.

// tidy: it only chooses

#[cfg(all(target_os = "linux", not(milepost_portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
mod posix;

#[cfg(all(target_os = "linux", not(milepost_portable)))]
pub(crate) use linux::parent_of;
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
pub(crate) use posix::parent_of;
