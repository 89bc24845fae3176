//! Calls that only Linux has.

// tidy: three of them

use std::fs::File;
use std::io::Result;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The most bytes of a path in an address: the kernel's `sun_path` without its final zero.
pub const PATH_MAX: usize = 107;

/// Returns a short name of a folder, and the folder: the name is that of its descriptor.
pub(crate) fn short_name(folder: &Path) -> Result<(PathBuf, File)> {
    let folder = File::open(folder)?;
    let name = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
    Ok((name, folder))
}

/// Returns the user of the process at the other end, as the kernel reports it.
pub(crate) fn user_at(stream: UnixStream) -> Result<u32> {
    let peer = rustix::net::sockopt::socket_peercred(&stream)?;
    Ok(peer.uid.as_raw())
}
