//! The file system, as captures see it: through descriptors, by stamps, without the time of day.
//!
//! ```text
//! dir.rs      a directory's descriptor, and all that is done below it
//! change.rs   what a restore does to it: moves, links, removals, syncs
//! stamp.rs    what the file system says of a file, and whether that can be trusted
//! probe.rs    the file system's present moment
//! ```

mod change;
mod dir;
mod probe;
mod stamp;

pub(crate) use dir::{Dir, Kind, Listed, at_root, is_bare_repository, look_at, set_bits};
pub(crate) use probe::Probe;
pub(crate) use stamp::{GRAIN_COARSE_NS, GRAIN_FINE_NS, Moment, Stamp};

pub(crate) use rustix::io::Errno;
