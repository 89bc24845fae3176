//! `ui`: the page of a store, for the user of this machine and nobody else.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use common::Place;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A page that is open, and what it printed. It is killed where a test ends before it.
struct Page {
    child: Child,
    said: String,
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Page {
    fn open(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        Self { child, said: said.trim().to_owned() }
    }

    /// Ends it as Ctrl-C does; its exit code.
    fn end(mut self) -> Option<i32> {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

/// The place, the code and the screen of an address.
fn parts(address: &str) -> (&str, &str, &str) {
    let (at, fragment) = address.strip_prefix("http://").unwrap().split_once("/#code=").unwrap();
    let (code, to) = fragment.split_once("&to=").unwrap();
    (at, code, to)
}

/// Status and body of what is asked.
fn ask(at: &str, line: &str, session: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    let session = match session {
        "" => String::new(),
        session => format!("Authorization: Bearer {session}\r\n"),
    };
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Length: {}\r\n{session}\r\n{body}",
        body.len(),
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut came = String::new();
    stream.read_to_string(&mut came).unwrap();
    let (head, body) = came.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Starts a session with a code.
fn begin(at: &str, code: &str) -> (u16, Value) {
    let (status, body) = ask(at, "POST /v1/sessions", "", &json!({ "code": code }).to_string());
    (status, serde_json::from_str(&body).unwrap())
}

#[test]
fn the_page_is_for_who_has_its_code_and_the_code_works_once() {
    let place = Place::recorded();
    let page = Page::open(place.command(["ui", "run@3", "--no-browser"]));
    let (at, code, to) = parts(&page.said);
    assert_eq!((code.len(), to), (32, "/task/run@3"));
    assert!(at.starts_with("127.0.0.1:"), "{at}");
    let (status, html) = ask(at, "GET /", "", "");
    assert_eq!(status, 200);
    assert!(html.contains("/page/page."), "{html}");
    assert_eq!(ask(at, "GET /v1/tasks", "", "").0, 401);
    assert_eq!(begin(at, &"0".repeat(32)).0, 401);
    let (status, began) = begin(at, code);
    assert_eq!((status, &began["user"], &began["admin"]), (201, &"local".into(), &true.into()));
    assert_eq!(begin(at, code).0, 401);
    let session = began["session"].as_str().unwrap();
    assert_eq!(ask(at, "GET /v1/tasks/run", session, "").0, 200);
    // Other commands reach the store while the page is open.
    assert!(place.say("tasks").ok().contains("airline-0"));
    assert_eq!(page.end(), Some(0));
    place.say("verify").ok();
}

#[test]
fn a_browser_opens_a_file_that_only_its_user_can_read_and_no_argument_has_the_code() {
    let place = Place::recorded();
    let folder = place.path("runtime");
    std::fs::create_dir(&folder).unwrap();
    // A browser that writes what it was called with.
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let script = "#!/bin/sh\necho \"$@\" > called.new; mv called.new called\n";
    let program = place.write(opener, script);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.command(["ui"]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", place.dir.path().display()));
    command.env("XDG_RUNTIME_DIR", &folder);
    let page = Page::open(command);
    let at = page.said.strip_prefix("listening on ").unwrap().to_owned();
    while !place.path("called").exists() {
        std::thread::yield_now();
    }
    let called = std::fs::read_to_string(place.path("called")).unwrap();
    let file = std::path::Path::new(called.trim());
    assert_eq!(file.parent(), Some(folder.as_path()));
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let html = std::fs::read_to_string(file).unwrap();
    let address = html.split("url=").nth(1).unwrap().split('"').next().unwrap();
    let address = address.replace("&amp;", "&");
    let (place_of, code, to) = parts(&address);
    assert_eq!((place_of, to), (at.strip_prefix("http://").unwrap(), "/tasks"));
    assert!(!called.contains(code) && !page.said.contains(code));
    assert_eq!(begin(place_of, code).0, 201);
    assert_eq!(page.end(), Some(0));
    assert!(!file.exists(), "the file goes with the page");
}

#[test]
fn without_a_browser_the_address_is_told() {
    let place = Place::recorded();
    let mut command = place.command(["ui", "--json"]);
    command.env("PATH", place.dir.path());
    let mut page = Page::open(command);
    let listening: Value = serde_json::from_str(&page.said).unwrap();
    let mut lines = BufReader::new(page.child.stderr.as_mut().unwrap()).lines();
    let hint = lines.next().unwrap().unwrap();
    assert!(hint.contains("`milepost ui --no-browser`"), "{hint}");
    let told = lines.next().unwrap().unwrap();
    assert!(told.contains("cannot start"), "{told}");
    let address = told.split(' ').find(|word| word.starts_with("http")).unwrap();
    let (at, code, _) = parts(address);
    assert_eq!(listening["listening"], format!("http://{at}"));
    assert_eq!(begin(at, code).0, 201);
    assert_eq!(page.end(), Some(0));
}

#[test]
fn a_page_that_cannot_be_is_refused_with_the_way() {
    let place = Place::recorded();
    place.say("ui nothing --no-browser").failed(1, "nothing");
    place.say("ui --no-browser --listen 0.0.0.0:0").failed(1, "`milepost serve` answers");
    let page = Page::open(place.command(["ui", "--no-browser"]));
    place.say("ui --no-browser").failed(1, "let `milepost serve` have the store open");
    assert_eq!(page.end(), Some(0));
}
