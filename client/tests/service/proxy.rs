//! A proxy between a client and a service that cuts connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_client::{Client, ClientBuilder};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Passes requests and answers on.
pub struct Proxy {
    at: SocketAddr,
    /// Number of connections that were cut.
    cut: Arc<AtomicUsize>,
}

impl Proxy {
    /// `lets` says of each connection how many bytes of answers it lets through: it is cut when the
    /// service sends another one. None: all.
    pub async fn new(
        to: SocketAddr,
        mut lets: impl FnMut() -> Option<usize> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let cut = Arc::new(AtomicUsize::new(0));
        let cuts = cut.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let service = TcpStream::connect(to).await.unwrap();
                let (lets, cuts) = (lets(), cuts.clone());
                tokio::spawn(async move {
                    if hand_on(client, service, lets).await {
                        cuts.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        Self { at, cut }
    }

    pub fn builder(&self) -> ClientBuilder {
        ClientBuilder::new(&format!("http://{}", self.at))
    }

    pub fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub fn cut(&self) -> usize {
        self.cut.load(Ordering::Relaxed)
    }
}

/// Hands on, and says whether it was cut.
async fn hand_on(client: TcpStream, service: TcpStream, lets: Option<usize>) -> bool {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_service, mut to_service) = service.into_split();
    let asked = tokio::spawn(async move {
        drop(tokio::io::copy(&mut from_client, &mut to_service).await);
    });
    let mut left = lets.unwrap_or(usize::MAX);
    let mut buffer = [0; 1024];
    let cut = loop {
        let Ok(len @ 1..) = from_service.read(&mut buffer).await else {
            break false;
        };
        let passes = len.min(left);
        if to_client.write_all(&buffer[..passes]).await.is_err() {
            break false;
        }
        left -= passes;
        if passes < len {
            break true;
        }
    };
    asked.abort();
    cut
}
