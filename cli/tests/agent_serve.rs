//! `milepost agent serve`: the daemon of a project.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use milepost::{Engine, Options};
use milepost_agents::HookCall;
use milepost_client::ClientBuilder;

use crate::common::{Place, Ran};

const HOUR: Duration = Duration::from_secs(3600);

/// A project, and the place of its store outside of it.
struct Project {
    place: Place,
    store: PathBuf,
}

impl Project {
    fn new() -> Self {
        let place = Place::new();
        fs::create_dir(place.path("project")).unwrap();
        let init = Self::command(&place, &["init", "--outside"]).output().unwrap();
        assert!(init.status.success(), "{init:?}");
        let projects = place.path("data/milepost/projects");
        let folder = fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
        Self { store: folder.join("store"), place }
    }

    fn command(place: &Place, arguments: &[&str]) -> Command {
        let mut command = place.command(arguments);
        command.current_dir(place.path("project")).env("XDG_DATA_HOME", place.path("data"));
        command.env("XDG_STATE_HOME", place.path("state")).stdin(Stdio::null());
        command
    }

    fn serve(&self) -> Command {
        Self::command(&self.place, &["agent", "serve"])
    }
}

/// A daemon, which ends with this.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_store_that_is_in_use_is_a_conflict_and_a_folder_that_cannot_be_made_is_none() {
    let project = Project::new();
    let engine = Engine::open(&project.store, Options::default()).unwrap();
    Ran::of(project.serve().output().unwrap()).failed(4, "is open in process");
    engine.close().unwrap();
    let mut serve = project.serve();
    serve.env("XDG_DATA_HOME", "/dev/null/data");
    Ran::of(serve.output().unwrap()).failed(1, "cannot make");
}

#[test]
fn a_daemon_takes_large_documents_logs_only_warnings_and_removes_old_parts() {
    let project = Project::new();
    let spool = project.place.path("state/milepost/spool");
    fs::create_dir_all(&spool).unwrap();
    let (old, new) = (spool.join(".milepost-old"), spool.join(".milepost-new"));
    for part in [&old, &new] {
        fs::write(part, "").unwrap();
    }
    let hours_ago = fs::metadata(&new).unwrap().modified().unwrap() - 2 * HOUR;
    fs::File::options().write(true).open(&old).unwrap().set_modified(hours_ago).unwrap();
    let daemon = Daemon(project.serve().spawn().unwrap());
    let socket = project.store.join("server/socket");
    while UnixStream::connect(&socket).is_err() {
        std::thread::yield_now();
    }
    assert!(!old.exists() && new.exists());
    let large = "x".repeat(17 << 20);
    let document = format!(r#"{{"hook_event_name":"Other","session_id":"s1","more":"{large}"}}"#);
    let call = HookCall {
        agent: "claude-code".to_owned(),
        time_us: 1,
        payload: document.into(),
        is_cut: false,
    };
    let asked = call.with(&project.place.path("project"), |_| None);
    let client = ClientBuilder::unix(&socket).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(client.take_hook(&asked)).unwrap();
    drop(daemon);
    let log = fs::read_to_string(project.store.with_file_name("agent.log")).unwrap();
    assert_eq!(log, "");
}
