//! Unix sockets: paths that are longer than an address may be, and the user at the other end.
//!
//! The address of a socket has room for about a hundred bytes of a path. [`Near`] is a short name
//! of the same socket. Calls that differ by system are in `platform`; see `docs/PORTABILITY.md`.
//!
//! ```
//! use std::os::unix::net::UnixListener;
//!
//! let dir = tempfile::tempdir()?;
//! let socket = dir.path().join("socket");
//! assert!(!milepost_sockets::is_listening(&socket));
//! let _listener = UnixListener::bind(&socket)?;
//! assert!(milepost_sockets::is_listening(&socket));
//! # Ok::<(), std::io::Error>(())
//! ```

mod platform;

use std::io::{Error, ErrorKind, Result};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

pub use platform::PATH_MAX;

/// A name of a socket that fits into an address. It is valid until it is dropped.
#[derive(Debug)]
pub struct Near {
    path: PathBuf,
    /// Keeps the name of a long path valid.
    _held: Option<platform::Held>,
}

impl Near {
    /// Returns a short name of a path: the path itself, if it fits.
    ///
    /// # Errors
    ///
    /// `InvalidInput`: the path has no folder or no last name, or that name alone is too long.
    /// Errors of the file system.
    pub fn of(socket: &Path) -> Result<Self> {
        let len = socket.as_os_str().len();
        if len <= PATH_MAX {
            return Ok(Self { path: socket.to_owned(), _held: None });
        }
        let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Err(Error::new(ErrorKind::InvalidInput, "it is no path of a file"));
        };
        let (short, held) = platform::short_name(folder).map_err(|error| {
            let text = "its folder cannot be opened, and its path is too long without";
            Error::new(error.kind(), format!("{text}: {error}"))
        })?;
        let path = short.join(name);
        match path.as_os_str().len() <= PATH_MAX {
            true => Ok(Self { path, _held: Some(held) }),
            false => {
                let text = format!(
                    "the path of a socket has at most {PATH_MAX} bytes, this {len}, and {} with a \
                     short name for its folder",
                    path.as_os_str().len()
                );
                Err(Error::new(ErrorKind::InvalidInput, text))
            }
        }
    }

    /// Returns the name.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Connects to a socket, whatever the length of its path.
///
/// # Errors
///
/// Those of [`Near::of`] and of the connection.
pub fn connect(socket: &Path) -> Result<UnixStream> {
    let near = Near::of(socket)?;
    UnixStream::connect(near.path())
}

/// Returns `true` if a program of this user, or of root, listens at a socket. Another user's
/// program could have bound the name.
pub fn is_listening(socket: &Path) -> bool {
    let [me, root] = [rustix::process::geteuid().as_raw(), 0];
    let user = connect(socket).and_then(platform::user_at);
    user.is_ok_and(|user| [me, root].contains(&user))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_path_of_any_length_has_a_name_that_fits_and_is_the_same_socket() {
        let dir = tempfile::tempdir().unwrap();
        for length in [1, PATH_MAX, 200] {
            let folder = dir.path().join("x".repeat(length));
            std::fs::create_dir_all(&folder).unwrap();
            let socket = folder.join("socket");
            assert!(connect(&socket).is_err() && !is_listening(&socket));
            let near = Near::of(&socket).unwrap();
            assert!(near.path().as_os_str().len() <= PATH_MAX, "{near:?}");
            let listener = UnixListener::bind(near.path()).unwrap();
            drop(near);
            assert!(socket.exists());
            assert!(is_listening(&socket));
            connect(&socket).unwrap();
            drop(listener);
            assert!(!is_listening(&socket));
        }
    }

    #[test]
    fn a_path_that_fits_is_its_own_name() {
        let path = Path::new("/a/b");
        assert_eq!(Near::of(path).unwrap().path(), path);
        let longest = PathBuf::from(format!("/{}", "x".repeat(PATH_MAX - 1)));
        assert_eq!(Near::of(&longest).unwrap().path(), longest);
    }

    #[test]
    fn a_last_name_that_is_too_long_is_refused_with_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let error = Near::of(&dir.path().join("x".repeat(PATH_MAX + 1))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&format!("at most {PATH_MAX} bytes")), "{error}");
    }

    #[test]
    fn the_user_at_the_other_end_is_the_one_who_listens() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(platform::user_at(one).unwrap(), rustix::process::geteuid().as_raw());
    }
}
