//! Socket paths that fit into the kernel's limit.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The maximum length of a socket path, in bytes.
const PATH_MAX: usize = 107;

/// Returns `true` if a program of this user, or of root, listens at a socket. Another user's
/// program could have bound the name.
pub fn is_listening(socket: &Path) -> bool {
    let near = match UnixStream::connect(socket) {
        // The path is too long for a socket's address. `Socket` handles that.
        Err(error) if error.kind() == ErrorKind::InvalidInput => return socket.exists(),
        Err(_) => return false,
        Ok(near) => near,
    };
    let [me, root] = [rustix::process::geteuid().as_raw(), 0];
    let peer = rustix::net::sockopt::socket_peercred(&near);
    peer.is_ok_and(|peer| [me, root].contains(&peer.uid.as_raw()))
}

/// A socket path, and the handle that its short name needs.
#[derive(Debug)]
pub(crate) struct Socket {
    name: PathBuf,
    /// The open folder of a long path: `/proc/self/fd` gives it a short name.
    _folder: Option<File>,
}

impl Socket {
    pub(crate) fn of(path: &Path) -> Result<Self> {
        if path.as_os_str().as_bytes().len() <= PATH_MAX {
            return Ok(Self { name: path.to_owned(), _folder: None });
        }
        let display = path.display();
        let endpoint = format!("socket {display}");
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::invalid(&endpoint, "it is no path of a file"));
        };
        let folder = File::open(folder);
        let folder = folder.map_err(|error| {
            let text =
                format!("its folder cannot be opened, and its path is too long without: {error}");
            Error::invalid(&endpoint, text)
        })?;
        let name = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { name, _folder: Some(folder) })
    }

    pub(crate) fn name(&self) -> &Path {
        &self.name
    }
}
