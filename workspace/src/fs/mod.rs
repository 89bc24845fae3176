//! File system access of captures: through descriptors, by stamps, without the time of day.
//!
//! ```text
//! dir.rs          descriptors of directories, and operations below them
//! change.rs       changes of a restore: moves, links, removals, syncs
//! folder.rs       the root folder of a workspace, and paths below it
//! stamp.rs        stamps of files, and when they can be trusted
//! clock_probe.rs  current time of the file system
//! granularity.rs  time that two stamps have to be apart
//! watch.rs        changes of folders, reported by the kernel
//! platform/       calls that differ by system
//! ```

// tidy: names the parts

mod change;
mod clock_probe;
mod dir;
mod folder;
mod granularity;
mod platform;
mod stamp;
mod watch;

pub(crate) use clock_probe::Probe;
pub(crate) use dir::{
    Dir, Kind, Listed, OTHER_BITS, at_root, is_bare_repository, is_work_tree, look_at, set_bits,
};
pub(crate) use folder::{Folder, PathWalker};
pub(crate) use granularity::Grain;
pub(crate) use platform::{SYNCS_FILE_SYSTEMS, is_locked_by_others, lock_holder, mounts_below};
pub(crate) use stamp::{Moment, Stamp};
pub(crate) use watch::{Happened, Watch};

pub(crate) use rustix::io::Errno;
