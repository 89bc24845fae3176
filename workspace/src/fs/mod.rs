//! The file system, as captures see it: through descriptors, by stamps, without the time of day.
//!
//! ```text
//! dir.rs      a directory's descriptor, and all that is done below it
//! change.rs   what a restore does to it: moves, links, removals, syncs
//! stamp.rs    what the file system says of a file, and whether that can be trusted
//! probe.rs    the file system's present moment
//! grain.rs    how far apart two stamps have to be
//! watch.rs    what the kernel tells of folders
//! ```

mod change;
mod clock_probe;
mod dir;
mod granularity;
mod stamp;
mod watch;

pub(crate) use clock_probe::Probe;
pub(crate) use dir::{Dir, Kind, Listed, at_root, is_bare_repository, look_at, set_bits};
pub(crate) use granularity::Grain;
pub(crate) use stamp::{Moment, Stamp};
pub(crate) use watch::{Happened, Watch};

pub(crate) use rustix::io::Errno;
