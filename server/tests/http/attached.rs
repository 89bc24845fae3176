//! A program that has a store open answers at a socket in it.

use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use milepost::events::RunControl;
use milepost::{Engine, Hook, Mark, Options, Task};
use milepost_server::{NewToken, Tokens, attach};
use serde_json::Value;

/// Asks at a socket, as a program without a runtime does.
pub fn ask(socket: &Path, request: &str, body: &str) -> (u16, Value) {
    // A path that is too long for a socket is reached by a link.
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("s");
    std::os::unix::fs::symlink(socket, &link).unwrap();
    let mut stream = UnixStream::connect(link).unwrap();
    let len = body.len();
    let asked = format!(
        "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len}\r\n\r\n{body}"
    );
    stream.write_all(asked.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

fn refused(engine: &Engine) -> Error {
    attach(engine).map(drop).unwrap_err()
}

#[test]
fn a_running_program_is_watched_and_steered_at_the_socket_in_its_store() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path(), Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    task.control().change(RunControl::Running, None).unwrap();
    // Tokens are for those who come from elsewhere.
    let new = NewToken { user: "ben".into(), ..NewToken::default() };
    Tokens::of_store(dir.path()).create(&new, 1).unwrap();
    let attached = attach(&engine).unwrap();
    let socket = attached.socket().to_owned();
    assert_eq!(socket, dir.path().join("server/socket"));
    let file = std::fs::symlink_metadata(&socket).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let (status, listed) = ask(&socket, "GET /v1/tasks", "");
    assert_eq!((status, &listed["items"][0]["id"]), (200, &"essay".into()));
    let (status, _) = ask(&socket, "POST /v1/tasks/essay/control", r#"{"to":"paused"}"#);
    assert_eq!(status, 200);
    assert_eq!(task.control().now().unwrap(), RunControl::Paused);
    let twice = refused(&engine);
    assert_eq!(twice.kind(), ErrorKind::AddrInUse, "{twice}");
    drop(attached);
    assert!(std::fs::symlink_metadata(&socket).is_err(), "it goes with what is held");
    let again = attach(&engine).unwrap();
    assert_eq!(ask(&socket, "GET /readyz", "").0, 200);
    engine.close().unwrap();
    assert_eq!(ask(&socket, "GET /readyz", "").0, 503, "closed, and still held");
    drop(again);
}

#[test]
fn a_socket_that_a_killed_program_left_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path(), Options::default()).unwrap();
    std::fs::create_dir(dir.path().join("server")).unwrap();
    let socket = dir.path().join("server/socket");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let _attached = attach(&engine).unwrap();
    assert_eq!(ask(&socket, "GET /healthz", "").0, 200);
}

#[test]
fn a_store_deep_down_has_a_socket_too() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a".repeat(100));
    std::fs::create_dir(&deep).unwrap();
    let store = deep.join("b".repeat(100));
    let engine = Engine::open(&store, Options::default()).unwrap();
    let attached = attach(&engine).unwrap();
    let socket = attached.socket().to_owned();
    assert_eq!(socket, store.join("server/socket"));
    assert_eq!(ask(&socket, "GET /healthz", "").0, 200);
    drop(attached);
    assert!(std::fs::symlink_metadata(&socket).is_err());
}

#[test]
fn a_store_in_memory_and_a_folder_that_takes_no_socket_say_why() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let error = refused(&engine);
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path(), Options::default()).unwrap();
    std::fs::create_dir(dir.path().join("server")).unwrap();
    let there: PathBuf = dir.path().join("server/socket");
    std::fs::write(&there, "mine").unwrap();
    let error = refused(&engine);
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
}

#[tokio::test]
async fn a_program_with_a_runtime_of_its_own_can_be_attached_to() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path(), Options::default()).unwrap();
    let attached = attach(&engine).unwrap();
    let socket = attached.socket().to_owned();
    let asked = tokio::task::spawn_blocking(move || ask(&socket, "GET /healthz", ""));
    assert_eq!(asked.await.unwrap().0, 200);
    drop(attached);
}

/// A hook that lets a checkpoint wait.
struct Gate {
    entered: Mutex<Sender<()>>,
    open: Mutex<Receiver<()>>,
    said: Arc<Mutex<Vec<&'static str>>>,
}

impl Hook for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn before_checkpoint(&self, _: &Task, _: &Mark) -> Result<(), String> {
        self.entered.lock().unwrap().send(()).unwrap();
        self.open.lock().unwrap().recv().unwrap();
        self.said.lock().unwrap().push("the job");
        Ok(())
    }
}

#[test]
fn a_service_that_ends_waits_for_its_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let (entered, enters) = channel();
    let (opens, open) = channel();
    let said = Arc::default();
    let gate =
        Gate { entered: Mutex::new(entered), open: Mutex::new(open), said: Arc::clone(&said) };
    let options = Options::default().hook(Arc::new(gate));
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let attached = attach(&engine).unwrap();
    let job = serde_json::json!({"capture": {"folder": work, "task": "t", "label": "one"}});
    let (status, _) = ask(attached.socket(), "POST /v1/jobs", &job.to_string());
    assert_eq!(status, 201);
    enters.recv().unwrap();
    let socket = attached.socket().to_owned();
    let ends = {
        let said: Arc<Mutex<Vec<&str>>> = Arc::clone(&said);
        std::thread::spawn(move || {
            drop(attached);
            said.lock().unwrap().push("the service");
        })
    };
    // The service has closed its socket, and waits.
    while socket.exists() {
        std::thread::yield_now();
    }
    (0..10_000).for_each(|_| std::thread::yield_now());
    assert!(!ends.is_finished());
    opens.send(()).unwrap();
    ends.join().unwrap();
    assert_eq!(*said.lock().unwrap(), ["the job", "the service"]);
    engine.close().unwrap();
}
