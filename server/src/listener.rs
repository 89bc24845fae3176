//! Listeners: TCP with or without TLS, and Unix sockets.

use std::fs::{self, File, Permissions};
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use milepost_sockets::PATH_MAX;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixSocket, UnixStream};
use tracing::warn;

use crate::host_limits::has_room;
use crate::tls::Tls;

/// The length of the kernel's backlog of connections.
const WAITING: u32 = 1024;

/// A bidirectional byte stream.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A client over TCP.
    Elsewhere,
    /// The user of this process or root, over a Unix socket.
    Owner,
    /// Another user of this machine, over a Unix socket.
    Other,
}

/// A listening socket.
#[derive(Debug)]
pub struct Listening {
    on: On,
}

#[derive(Debug)]
enum On {
    Tcp(TcpListener, Option<Tls>),
    /// The file is dropped first: after the listener is closed, another process may replace the
    /// file, which must not be removed.
    Unix(SocketFile, UnixListener),
}

/// The file of a socket, removed when its listener is dropped.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Device and inode number: another file at the path belongs to another process.
    file: (u64, u64),
    /// The owner: the user of this process.
    owner: u32,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let there = fs::symlink_metadata(&self.path);
        if there.is_ok_and(|there| (there.dev(), there.ino()) == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl From<TcpListener> for Listening {
    fn from(listener: TcpListener) -> Self {
        Self::tcp(listener)
    }
}

impl Listening {
    /// Listens on TCP.
    #[must_use]
    pub fn tcp(listener: TcpListener) -> Self {
        Self { on: On::Tcp(listener, None) }
    }

    /// Listens on TCP with TLS.
    #[must_use]
    pub fn tls(listener: TcpListener, tls: Tls) -> Self {
        Self { on: On::Tcp(listener, Some(tls)) }
    }

    /// Listens on a Unix socket with mode 0600. Replaces the socket of a process that died.
    /// Dropping the listener removes the file.
    ///
    /// # Errors
    ///
    /// `InvalidInput`: the path is too long for a socket. `AddrInUse`: another process listens
    /// there. `AlreadyExists`: the path is not a socket; it is left unchanged. Errors of the file
    /// system.
    pub async fn unix(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let len = path.as_os_str().len();
        if len > PATH_MAX {
            let text = format!("the path of a socket has at most {PATH_MAX} bytes, this {len}");
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        // Serializes the search for a dead socket with processes that have bound a socket and do
        // not listen yet.
        let _one = hold_folder(&path)?;
        make_way(&path).await?;
        let socket = UnixSocket::new_stream()?;
        socket.bind(&path)?;
        // Connections are possible only after `listen`, so the mode is set in time. The umask
        // applies to all threads of the process and is not changed.
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let there = fs::symlink_metadata(&path)?;
        let file = SocketFile { path, file: (there.dev(), there.ino()), owner: there.uid() };
        let listener = socket.listen(WAITING)?;
        Ok(Self { on: On::Unix(file, listener) })
    }

    /// Returns the address as a client names it: `http://ADDRESS`, `https://ADDRESS` or
    /// `unix:PATH`.
    ///
    /// # Errors
    ///
    /// The listener's address cannot be read.
    pub fn at(&self) -> io::Result<String> {
        Ok(match &self.on {
            On::Tcp(listener, None) => format!("http://{}", listener.local_addr()?),
            On::Tcp(listener, Some(_)) => format!("https://{}", listener.local_addr()?),
            On::Unix(file, _) => format!("unix:{}", file.path.display()),
        })
    }

    /// Returns true if only this machine can connect.
    pub(crate) fn is_here(&self) -> io::Result<bool> {
        match &self.on {
            On::Tcp(listener, _) => Ok(listener.local_addr()?.ip().is_loopback()),
            On::Unix(..) => Ok(true),
        }
    }

    pub(crate) fn with_tls(&self) -> Option<Tls> {
        match &self.on {
            On::Tcp(_, tls) => tls.clone(),
            On::Unix(..) => None,
        }
    }

    /// Accepts a connection; the last value is false if it would take a file reserved for the
    /// store.
    pub(crate) async fn accept(&self) -> io::Result<(Box<dyn Io>, Peer, bool)> {
        match &self.on {
            On::Tcp(listener, _) => {
                let (stream, _) = listener.accept().await?;
                // Answers are written as a whole: Nagle's algorithm would only delay them.
                let _ = stream.set_nodelay(true);
                let room = has_room(&stream);
                Ok((Box::new(stream), Peer::Elsewhere, room))
            }
            On::Unix(file, listener) => {
                let (stream, _) = listener.accept().await?;
                let peer = peer(&stream, file.owner);
                let room = has_room(&stream);
                Ok((Box::new(stream), peer, room))
            }
        }
    }
}

/// Returns the peer of a socket, as the kernel reports it.
pub(crate) fn peer(stream: &UnixStream, owner: u32) -> Peer {
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == owner || peer.uid() == 0 => Peer::Owner,
        Ok(_) => Peer::Other,
        Err(error) => {
            warn!(target: "milepost::http", %error, "who connected to the socket is not known");
            Peer::Other
        }
    }
}

/// Locks the folder of a socket.
fn hold_folder(path: &Path) -> io::Result<File> {
    let folder = path.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")))?;
    folder.lock()?;
    Ok(folder)
}

/// Removes the socket of a process that died.
async fn make_way(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !there.file_type().is_socket() {
        let text = "something is there that is no socket: it is left as it is";
        return Err(Error::new(ErrorKind::AlreadyExists, text));
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        // A socket that is too busy to answer is in use as well.
        Ok(_) | Err(_) => {
            let text = "the socket is in use: another process listens on it";
            Err(Error::new(ErrorKind::AddrInUse, text))
        }
    }
}
