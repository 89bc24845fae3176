//! A service with TLS.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use milepost_server::{Listening, ServerOptions, Tls};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::listening::{Client, Running, get, tcp};
use crate::served::Served;

/// A certificate for `localhost` in two files.
struct Files {
    dir: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, made: &CertifiedKey<rcgen::KeyPair>) {
        std::fs::write(self.path("certificate"), made.cert.pem()).unwrap();
        std::fs::write(self.path("key"), made.signing_key.serialize_pem()).unwrap();
    }

    fn read(&self) -> std::io::Result<Tls> {
        Tls::read(self.path("certificate"), self.path("key"))
    }
}

fn make() -> CertifiedKey<rcgen::KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

/// Connects as one who trusts this certificate only.
async fn connect(
    at: std::net::SocketAddr,
    trusted: &CertificateDer<'static>,
    protocols: &[&str],
) -> std::io::Result<Client<TlsStream<TcpStream>>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions();
    let mut config = versions.unwrap().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let connector = TlsConnector::from(Arc::new(config));
    let stream = TcpStream::connect(at).await?;
    let name = ServerName::try_from("localhost").unwrap();
    Ok(Client(connector.connect(name, stream).await?))
}

#[tokio::test]
async fn it_answers_with_tls_and_offers_what_it_speaks() {
    let (served, files, made) = (Served::new(), Files::new(), make());
    files.write(&made);
    let (listener, at) = tcp().await;
    let listening = Listening::tls(listener, files.read().unwrap());
    assert_eq!(listening.at().unwrap(), format!("https://{at}"));
    let mut running = Running::of(served.server(), listening);
    let mut client = connect(at, made.cert.der(), &["h2", "http/1.1"]).await.unwrap();
    let spoken = client.0.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
    assert_eq!(spoken.as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(client.get("/healthz").await.status(), 200);
    assert_eq!(client.get("/v1/tasks").await.status(), 200);
    assert!(connect(at, made.cert.der(), &["h2"]).await.is_err());
    assert!(connect(at, make().cert.der(), &[]).await.is_err());
    // A client without TLS gets no answer; other clients do.
    let mut plain = Client::to(at).await;
    plain.send(&get("/healthz")).await;
    assert_eq!(client.get("/healthz").await.status(), 200);
    running.stop();
    running.ended().await;
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_certificate_is_read_again_for_who_connects_from_then_on() {
    let (served, files, old) = (Served::new(), Files::new(), make());
    files.write(&old);
    let (listener, at) = tcp().await;
    let tls = files.read().unwrap();
    let _running = Running::of(served.server(), Listening::tls(listener, tls.clone()));
    let mut before = connect(at, old.cert.der(), &[]).await.unwrap();
    let new = make();
    files.write(&new);
    assert!(connect(at, new.cert.der(), &[]).await.is_err());
    tls.reload().unwrap();
    let mut after = connect(at, new.cert.der(), &[]).await.unwrap();
    assert_eq!(after.get("/healthz").await.status(), 200);
    assert!(connect(at, old.cert.der(), &[]).await.is_err());
    // Existing connections stay open.
    assert_eq!(before.get("/healthz").await.status(), 200);
}

#[tokio::test]
async fn files_that_are_none_or_do_not_fit_leave_what_was_there() {
    let (served, files, made) = (Served::new(), Files::new(), make());
    files.write(&made);
    let (listener, at) = tcp().await;
    let tls = files.read().unwrap();
    let _running = Running::of(served.server(), Listening::tls(listener, tls.clone()));
    let spoil = |name: &str, text: &str| std::fs::write(files.path(name), text).unwrap();
    let said = |tls: &Tls| tls.reload().unwrap_err().to_string();
    spoil("key", &make().signing_key.serialize_pem());
    assert!(said(&tls).contains("cannot be used together"), "{}", said(&tls));
    let secret = "c2VjcmV0";
    for text in ["", "no PEM", &format!("-----BEGIN PRIVATE KEY-----\n{secret}")] {
        for name in ["certificate", "key"] {
            files.write(&made);
            spoil(name, text);
            let said = said(&tls);
            assert!(said.contains(name) && !said.contains(secret), "{said}");
        }
    }
    files.write(&made);
    std::fs::remove_file(files.path("certificate")).unwrap();
    assert!(said(&tls).contains("cannot read the certificate"));
    let mut client = connect(at, made.cert.der(), &[]).await.unwrap();
    assert_eq!(client.get("/healthz").await.status(), 200);
    assert!(Tls::read(Path::new("nowhere"), files.path("key")).is_err());
}

#[tokio::test(start_paused = true)]
async fn who_never_says_who_they_are_is_cut_off() {
    let served = Served::with(ServerOptions::default().read_timeout(Duration::from_secs(1)));
    let (files, made) = (Files::new(), make());
    files.write(&made);
    let (listener, at) = tcp().await;
    let listening = Listening::tls(listener, files.read().unwrap());
    let mut running = Running::of(served.server(), listening);
    let mut silent = Client::to(at).await;
    assert!(silent.is_closed().await);
    let mut half = Client::to(at).await;
    half.send("\x16\x03\x01").await;
    crate::listening::settle().await;
    running.stop();
    running.ended().await;
    assert!(half.is_closed().await);
}
