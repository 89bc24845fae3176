//! A server with scripted answers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use milepost_client::{Client, ClientBuilder};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Answer to a request.
#[derive(Debug, Clone)]
pub enum Says {
    /// These bytes, and the connection ends.
    Bytes(String),
    /// These bytes, and then the others until the client stops reading.
    Endless(String, &'static str),
    /// These bytes, and nothing more; the connection stays.
    Silent(String),
}

/// A server that is not a Milepost service.
pub struct Fake {
    at: SocketAddr,
    /// The request heads in lower case.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    /// Says one thing after the other, and the last one from then on.
    pub async fn new(says: Vec<Says>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heads = asked.clone();
        tokio::spawn(async move {
            let mut next = 0;
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let says = says[next.min(says.len() - 1)].clone();
                next += 1;
                let heads = heads.clone();
                tokio::spawn(async move { answer(stream, says, &heads).await });
            }
        });
        Self { at, asked }
    }

    pub fn builder(&self) -> ClientBuilder {
        ClientBuilder::new(&format!("http://{}", self.at))
    }

    pub fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, says: Says, heads: &Mutex<Vec<String>>) {
    let head = request(&mut stream).await;
    heads.lock().unwrap().push(head);
    // The client may have closed the connection.
    match says {
        Says::Bytes(bytes) => drop(stream.write_all(bytes.as_bytes()).await),
        Says::Endless(bytes, more) => {
            let mut sent = stream.write_all(bytes.as_bytes()).await;
            while sent.is_ok() {
                sent = stream.write_all(more.as_bytes()).await;
            }
        }
        Says::Silent(bytes) => {
            drop(stream.write_all(bytes.as_bytes()).await);
            drop(stream.read(&mut [0; 64]).await);
        }
    }
}

/// Reads a request to its end, and gives its head.
async fn request(stream: &mut TcpStream) -> String {
    let mut came = Vec::new();
    let end = loop {
        if let Some(at) = came.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let mut byte = [0];
        if stream.read(&mut byte).await.unwrap_or(0) == 0 {
            return String::new();
        }
        came.push(byte[0]);
    };
    let head = String::from_utf8(came[..end].to_vec()).unwrap().to_lowercase();
    let len = header(&head, "content-length").map_or(0, |len| len.parse().unwrap());
    stream.read_exact(&mut vec![0; len]).await.unwrap();
    head
}

/// A header of a head.
pub fn header(head: &str, name: &str) -> Option<String> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(of, _)| *of == name)
        .map(|(_, value)| value.to_owned())
}

/// An answer with a body.
pub fn says(status: &str, headers: &str, body: &str) -> Says {
    let len = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {len}\r\nconnection: close\r\n");
    Says::Bytes(format!("{head}{headers}\r\n{body}"))
}

/// The head of an answer whose body ends with the connection.
pub fn head(kind: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n")
}
