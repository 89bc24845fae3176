//! A service on a Unix socket.

use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener as Taken;
use std::path::Path;
use std::sync::{Arc, Barrier};

use milepost_server::Listening;
use milepost_sockets::PATH_MAX;
use tokio::net::UnixStream;

use crate::listening::{Client, Running};
use crate::served::Served;

async fn client(path: &Path) -> Client<UnixStream> {
    Client(UnixStream::connect(path).await.unwrap())
}

async fn refused(path: &Path) -> std::io::Error {
    Listening::unix(path).await.map(drop).unwrap_err()
}

#[tokio::test]
async fn a_socket_is_its_owners_and_goes_with_the_service() {
    let served = Served::new();
    served.task("essay", "ana", 1);
    let path = served.dir.path().join("socket");
    let listening = Listening::unix(&path).await.unwrap();
    assert_eq!(listening.at().unwrap(), format!("unix:{}", path.display()));
    let file = std::fs::symlink_metadata(&path).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let mut running = Running::of(served.server(), listening);
    let mut client = client(&path).await;
    // No name leads to a socket: what the client says of it counts for nothing.
    client.send("GET /v1/tasks/essay HTTP/1.1\r\nHost: evil.example\r\n\r\n").await;
    assert_eq!(client.answer().await.status(), 200);
    client.send("GET /v1/tasks HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\n\r\n").await;
    assert_eq!(client.answer().await.status(), 403);
    // A store with tokens requires one here too.
    let token = served.token("root", true);
    assert_eq!(client.get("/v1/tasks").await.status(), 401);
    client
        .send(&format!(
            "GET /v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        ))
        .await;
    assert_eq!(client.answer().await.status(), 200);
    running.stop();
    running.ended().await;
    assert!(std::fs::symlink_metadata(&path).is_err());
}

#[tokio::test]
async fn a_socket_that_is_left_over_is_replaced_and_one_in_use_is_not() {
    let served = Served::new();
    let path = served.dir.path().join("socket");
    drop(Taken::bind(&path).unwrap());
    assert!(path.exists());
    let listening = Listening::unix(&path).await.unwrap();
    let _running = Running::of(served.server(), listening);
    let error = refused(&path).await;
    assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error}");
    assert!(error.to_string().contains("in use"), "{error}");
    assert_eq!(client(&path).await.get("/healthz").await.status(), 200);
}

#[test]
fn many_that_begin_at_once_are_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    for _ in 0..100 {
        drop(Taken::bind(&path).unwrap());
        let at_once = Arc::new(Barrier::new(4));
        let begun: Vec<_> = (0..4)
            .map(|_| {
                let (path, at_once) = (path.clone(), Arc::clone(&at_once));
                std::thread::spawn(move || {
                    let mut runtime = tokio::runtime::Builder::new_current_thread();
                    let runtime = runtime.enable_all().build().unwrap();
                    at_once.wait();
                    let listening = runtime.block_on(Listening::unix(path));
                    listening.map(|listening| (listening, runtime))
                })
            })
            .collect();
        let begun: Vec<_> = begun.into_iter().map(|one| one.join().unwrap()).collect();
        assert_eq!(begun.iter().filter(|one| one.is_ok()).count(), 1);
        assert!(Taken::bind(&path).is_err(), "its file is there");
        drop(begun);
        assert!(!path.exists());
    }
}

#[tokio::test]
async fn what_is_no_socket_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path().join("nothing"), &link).unwrap();
    for path in [&file, &link, &dir.path().to_owned()] {
        let error = refused(path).await;
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let none = refused(&dir.path().join("no/folder/socket")).await;
    assert_eq!(none.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_path_that_is_too_long_is_refused_with_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let room = PATH_MAX - dir.path().as_os_str().len() - 1;
    let fits = dir.path().join("x".repeat(room));
    assert!(Listening::unix(&fits).await.is_ok());
    let error = refused(&dir.path().join("x".repeat(room + 1))).await;
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains(&format!("at most {PATH_MAX} bytes")), "{error}");
}

#[tokio::test]
async fn the_file_of_another_is_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let listening = Listening::unix(&path).await.unwrap();
    // Kept elsewhere, so that its number is not taken again.
    std::fs::rename(&path, dir.path().join("kept")).unwrap();
    std::fs::write(&path, "mine").unwrap();
    drop(listening);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}
