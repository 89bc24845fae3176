//! Where the service listens: on TCP, with TLS or without, or on a Unix socket.

use std::fs::{self, File, Permissions};
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, UnixSocket, UnixStream};
use tracing::warn;

use crate::connections::{Io, Peer};
use crate::open_files::has_room;
use crate::tls::Tls;

/// Bytes that the path of a socket has at most: the kernel's `sun_path`, less the zero at its end.
pub(crate) const PATH_MAX: usize = 107;

/// Connections that wait in the kernel until they are taken.
const WAITING: u32 = 1024;

/// Where a service listens.
#[derive(Debug)]
pub struct Listening {
    on: On,
}

#[derive(Debug)]
enum On {
    Tcp(TcpListener, Option<Tls>),
    /// The file goes first: a listener that is no more would be replaced, and another's file would
    /// go.
    Unix(SocketFile, UnixListener),
}

/// The file of a socket, which goes with whoever listens on it.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Device and number of the file: another at the same path is somebody else's.
    file: (u64, u64),
    /// Whose it is: the user of this process.
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
    /// On TCP.
    #[must_use]
    pub fn tcp(listener: TcpListener) -> Self {
        Self { on: On::Tcp(listener, None) }
    }

    /// On TCP, with TLS.
    #[must_use]
    pub fn tls(listener: TcpListener, tls: Tls) -> Self {
        Self { on: On::Tcp(listener, Some(tls)) }
    }

    /// On a socket with mode 0600. One that is left over from a process that died is replaced. The
    /// file is removed when it is listened on no more.
    ///
    /// # Errors
    ///
    /// `InvalidInput`: the path is longer than a socket's can be. `AddrInUse`: somebody listens
    /// there. `AlreadyExists`: something is there that is no socket; it is left as it is. Those of
    /// the file system.
    pub async fn unix(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let len = path.as_os_str().len();
        if len > PATH_MAX {
            let text = format!("the path of a socket has at most {PATH_MAX} bytes, this {len}");
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        // Caller looks whether a socket is left over, and who has bound one and does not listen
        // yet, wait for each other.
        let _one = hold_folder(&path)?;
        make_way(&path).await?;
        let socket = UnixSocket::new_stream()?;
        socket.bind(&path)?;
        // Nobody can connect before `listen`, so there is no moment in which others could; and the
        // mask of the process, which is one for all of its threads, is left alone.
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let there = fs::symlink_metadata(&path)?;
        let file = SocketFile { path, file: (there.dev(), there.ino()), owner: there.uid() };
        let listener = socket.listen(WAITING)?;
        Ok(Self { on: On::Unix(file, listener) })
    }

    /// Where that is, as a client names it: `http://ADDRESS`, `https://ADDRESS` or `unix:PATH`.
    ///
    /// # Errors
    ///
    /// The listener does not know its address.
    pub fn at(&self) -> io::Result<String> {
        Ok(match &self.on {
            On::Tcp(listener, None) => format!("http://{}", listener.local_addr()?),
            On::Tcp(listener, Some(_)) => format!("https://{}", listener.local_addr()?),
            On::Unix(file, _) => format!("unix:{}", file.path.display()),
        })
    }

    /// Whether only this machine's own reach it.
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

    /// The next connection, and whether the process has room for it beside the store's files.
    pub(crate) async fn accept(&self) -> io::Result<(Box<dyn Io>, Peer, bool)> {
        match &self.on {
            On::Tcp(listener, _) => {
                let (stream, _) = listener.accept().await?;
                // An answer is written as a whole: it need not wait for more.
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

/// Caller is at the other end of a socket, as the kernel says.
fn peer(stream: &UnixStream, owner: u32) -> Peer {
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == owner || peer.uid() == 0 => Peer::Owner,
        Ok(_) => Peer::Other,
        Err(error) => {
            warn!(target: "milepost::http", %error, "who connected to the socket is not known");
            Peer::Other
        }
    }
}

/// Holds the folder of a socket.
fn hold_folder(path: &Path) -> io::Result<File> {
    let folder = path.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")))?;
    folder.lock()?;
    Ok(folder)
}

/// Takes away the socket of a process that died.
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
        // One that does not answer since it has too much to do is in use, too.
        Ok(_) | Err(_) => {
            let text = "the socket is in use: another process listens on it";
            Err(Error::new(ErrorKind::AddrInUse, text))
        }
    }
}
