//! Addresses of a service: a socket in a store, and TLS.

use milepost::{Engine, Options};
use milepost_client::calls::{Task, TaskQuery, Tasks};
use milepost_client::{Client, ClientBuilder, ErrorKind};
use milepost_server::{Listening, Tls, attach};
use rcgen::generate_simple_self_signed;
use tokio::net::TcpListener;

use crate::served::{Served, guide_of, serve, start_of};

#[tokio::test]
async fn a_store_in_use_is_reached_at_its_socket_however_deep_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a".repeat(100)).join("b".repeat(100));
    std::fs::create_dir_all(deep.parent().unwrap()).unwrap();
    for store in [dir.path().join("store"), deep] {
        let engine = Engine::open(&store, Options::default()).unwrap();
        let attached = attach(&engine).unwrap();
        let client = Client::unix(attached.socket()).unwrap();
        client.call(&start_of("essay")).await.unwrap();
        client.call(&guide_of("Fewer adjectives.")).await.unwrap();
        assert_eq!(engine.task("essay").unwrap().head().unwrap().next, 2);
        let mut following = client.follow("essay", 1);
        following.next().await.unwrap().unwrap();
        let (socket, gone) = (attached.socket().to_owned(), client.clone());
        tokio::task::spawn_blocking(move || drop(attached)).await.unwrap();
        let error = gone.call(&Task::new("essay")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        // After a second attachment, the same client works.
        let attached = attach(&engine).unwrap();
        assert_eq!(attached.socket(), socket);
        client.call(&guide_of("More verbs.")).await.unwrap();
        following.next().await.unwrap().unwrap();
        tokio::task::spawn_blocking(move || drop(attached)).await.unwrap();
    }
    let missing = Client::unix(dir.path().join("c".repeat(200)).join("socket"));
    let error = missing.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("cannot be opened"), "{error}");
}

#[tokio::test]
async fn with_tls_only_who_is_believed_is_asked() {
    let served = Served::with_essay().await;
    let (made, other) = (certificate(), certificate());
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = (dir.path().join("cert"), dir.path().join("key"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let tls = Tls::read(&cert, &key).unwrap();
    serve(&served.server, Listening::tls(listener, tls));
    let builder = ClientBuilder::new(&format!("https://localhost:{port}"));
    let believed = builder.clone().root_certificate(made.cert.pem());
    let client = believed.build().unwrap();
    let tasks = client.call(&Tasks::new(TaskQuery::default())).await.unwrap();
    assert_eq!(tasks.items[0].id, "essay");
    let not_believed = builder.root_certificate(other.cert.pem());
    let error = not_believed.build().unwrap().health().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains("certificate"), "{error}");
}

fn certificate() -> rcgen::CertifiedKey<rcgen::KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}
