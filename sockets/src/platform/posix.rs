//! The functions of `linux` without its calls.

// tidy: three of them

use std::fs::{File, Permissions};
use std::io::Result;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf, absolute};

use tempfile::TempDir;
use tokio::runtime::Builder;

/// The most bytes of a path in an address. The systems of BSD have the least room: 104 bytes with
/// the final zero.
pub const PATH_MAX: usize = 103;

/// Returns a short name of a folder: a link to it in a temporary folder, which only this user may
/// enter.
pub(crate) fn short_name(folder: &Path) -> Result<(PathBuf, TempDir)> {
    // A link to a folder that is not there can be made: it fails here, as it does on Linux.
    File::open(folder)?;
    let own = Permissions::from_mode(0o700);
    let held = tempfile::Builder::new().prefix("milepost-").permissions(own).tempdir()?;
    let name = held.path().join("f");
    symlink(absolute(folder)?, &name)?;
    Ok((name, held))
}

/// Returns the user of the process at the other end, as the system reports it. The call for it
/// differs by system: tokio has each of them.
pub(crate) fn user_at(stream: UnixStream) -> Result<u32> {
    stream.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let user = {
        let _inside = runtime.enter();
        tokio::net::UnixStream::from_std(stream)?.peer_cred().map(|peer| peer.uid())
    };
    // The caller may be inside another runtime, which must not wait for this one.
    runtime.shutdown_background();
    user
}
