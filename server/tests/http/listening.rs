//! A service that listens, and connections to it.

use std::net::SocketAddr;
use std::time::Duration;

use milepost_server::{Listening, Server};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Time that a test waits for an expected event, by a paused clock, which advances when nothing
/// else can happen.
pub const LONG: Duration = Duration::from_secs(10);

/// A service that listens, until it is stopped.
pub struct Running {
    stop: Option<oneshot::Sender<()>>,
    done: JoinHandle<std::io::Result<()>>,
}

impl Running {
    pub fn of(server: &Server, listening: impl Into<Listening>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (server, listening) = (server.clone(), listening.into());
        let done = tokio::spawn(async move {
            let stop = async move { stopped.await.unwrap_or_default() };
            server.serve(listening, stop).await
        });
        Self { stop: Some(stop), done }
    }

    pub fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    pub fn is_done(&self) -> bool {
        self.done.is_finished()
    }

    /// Waits for its end.
    pub async fn ended(self) {
        let ended = timeout(LONG, self.done).await;
        ended.expect("it ends").unwrap().unwrap();
    }
}

/// A listener on a free port of this machine, and its address.
pub async fn tcp() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    (listener, at)
}

/// A service on TCP.
pub async fn run(server: &Server) -> (Running, SocketAddr) {
    let (listener, at) = tcp().await;
    (Running::of(server, listener), at)
}

/// A connection.
pub struct Client<T>(pub T);

/// Answer of a service.
#[derive(Debug)]
pub struct Answer {
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

impl Client<TcpStream> {
    pub async fn to(at: SocketAddr) -> Self {
        Self(TcpStream::connect(at).await.unwrap())
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Client<T> {
    pub async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
        self.0.flush().await.unwrap();
    }

    /// The next answer, which says how long it is.
    pub async fn answer(&mut self) -> Answer {
        let mut came = Vec::new();
        let body = loop {
            if let Some(at) = came.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            came.push(self.byte().await.expect("a head"));
        };
        let head = String::from_utf8(came.split_off(0)).unwrap().to_lowercase();
        let len = head
            .split("content-length: ")
            .nth(1)
            .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse().unwrap());
        assert_eq!(body, head.len());
        let mut body = vec![0; len];
        timeout(LONG, self.0.read_exact(&mut body)).await.expect("a body").unwrap();
        let body = String::from_utf8(body).unwrap();
        Answer { head, body }
    }

    async fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        let read = timeout(LONG, self.0.read(&mut byte)).await.expect("something comes");
        (read.unwrap() == 1).then_some(byte[0])
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.send(&get(path)).await;
        self.answer().await
    }

    /// Returns `true` if the other end closes the connection before it sends anything. Unread bytes
    /// may turn the close into a reset.
    pub async fn is_closed(&mut self) -> bool {
        let read = timeout(LONG, self.0.read(&mut [0])).await;
        read.expect("it is closed").unwrap_or_default() == 0
    }
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// Lets everything happen that can.
pub async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
