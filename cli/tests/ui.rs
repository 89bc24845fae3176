//! `ui`: the page of a store, for the user of this machine only.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use milepost::events::Message;
use milepost::{Engine, Options};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::common::Place;

/// A page that is open, and its output. It is killed on drop.
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

/// Sends a request with these headers.
fn send(at: &str, line: &str, headers: &str, body: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(at).unwrap();
    let len = body.len();
    let head = format!("{line} HTTP/1.1\r\n{headers}Content-Length: {len}\r\n\r\n{body}");
    stream.write_all(head.as_bytes()).unwrap();
    BufReader::new(stream)
}

/// Status and body of the answer.
fn answer(mut from: BufReader<TcpStream>) -> (u16, String) {
    let mut came = String::new();
    from.read_to_string(&mut came).unwrap();
    let (head, body) = came.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Returns status and body of a request.
fn ask(at: &str, line: &str, session: &str, body: &str) -> (u16, String) {
    let session = match session {
        "" => String::new(),
        session => format!("Authorization: Bearer {session}\r\n"),
    };
    let headers = format!("Host: {at}\r\nConnection: close\r\n{session}");
    answer(send(at, line, &headers, body))
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
    let (at, ..) = parts(&page.said);
    place.say(&format!("ui --no-browser --server http://{at}")).failed(1, "open its address");
    assert_eq!(page.end(), Some(0));
}

#[test]
fn a_store_that_another_program_has_open_is_watched_and_steered_there() {
    let place = Place::recorded();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let attached = milepost_server::attach(&engine).unwrap();
    place.say("ui nothing --no-browser").failed(1, "nothing");
    let page = Page::open(place.command(["ui", "run@3", "--no-browser"]));
    let (at, code, to) = parts(&page.said);
    assert_eq!(to, "/task/run@3");
    assert!(ask(at, "GET /", "", "").1.contains("/page/page."));
    let (status, began) = begin(at, code);
    assert_eq!((status, &began["admin"]), (201, &true.into()));
    assert_eq!(begin(at, code).0, 401);
    let session = began["session"].as_str().unwrap();
    let (status, tasks) = ask(at, "GET /v1/tasks", session, "");
    assert_eq!(status, 200, "{tasks}");
    assert!(tasks.contains("airline-0"), "{tasks}");
    // Problems come as the other program says them.
    let (status, problem) = ask(at, "GET /v1/tasks/nothing", session, "");
    assert_eq!((status, problem.contains("nothing")), (404, true), "{problem}");

    // Nor are the folders of this machine the page's.
    let capture = json!({ "capture": { "folder": place.path("."), "task": "stolen" } });
    let (status, problem) = ask(at, "POST /v1/jobs", session, &capture.to_string());
    assert_eq!(status, 403, "{problem}");

    let asked = "GET /v1/tasks/run/events";
    let stream = format!("Accept: text/event-stream\r\nAuthorization: Bearer {session}\r\n");
    let mut events = send(at, asked, &format!("Host: {at}\r\n{stream}"), "");
    let task = engine.task("run").unwrap();
    let next = task.head().unwrap().next;
    task.append(Message::text("user", "from the other program")).unwrap();
    let mut line = String::new();
    while !line.contains("from the other program") {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "the stream has ended");
    }
    // A body that is longer than any buffer on its way.
    let text = "word ".repeat(200_000);
    let body =
        json!({ "kind": "message", "body": { "role": "user", "content": text } }).to_string();
    let (status, answer) = ask(at, "POST /v1/tasks/run/events", session, &body);
    assert_eq!(status, 201, "{answer}");
    assert_eq!(task.head().unwrap().next, next + 2);
    let read = format!("GET /v1/tasks/run/events?from={}", next + 1);
    assert!(ask(at, &read, session, "").1.len() > text.len());

    drop(attached);
    let (status, problem) = ask(at, "GET /v1/tasks", session, "");
    assert_eq!((status, problem.contains("does not answer")), (503, true), "{problem}");
    let _attached = milepost_server::attach(&engine).unwrap();
    // An open stream does not hold up the end.
    let _stream = send(at, asked, &format!("Host: {at}\r\n{stream}"), "");
    assert_eq!(page.end(), Some(0));
}

#[test]
fn only_a_session_of_the_page_itself_reaches_the_other_program() {
    let place = Place::recorded();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let _attached = milepost_server::attach(&engine).unwrap();
    let page = Page::open(place.command(["ui", "--no-browser"]));
    let (at, code, _) = parts(&page.said);
    for asked in
        ["GET /v1/tasks", "GET /v1/nothing", "DELETE /v1/tasks/run", "POST /v1/tasks/run/events"]
    {
        assert_eq!(ask(at, asked, "", "").0, 401, "{asked}");
        assert_eq!(ask(at, asked, &format!("ms_{}", "0".repeat(64)), "").0, 401, "{asked}");
    }
    let (_, began) = begin(at, code);
    let session = format!("Authorization: Bearer {}\r\n", began["session"].as_str().unwrap());
    let own = format!("Host: {at}\r\n{session}");
    for (headers, status) in [
        (own.clone(), 200),
        (format!("{own}Origin: http://{at}\r\nSec-Fetch-Site: same-origin\r\n"), 200),
        // The other program takes none of them at its socket.
        (format!("{own}Origin: http://{at}\r\nCookie: a=b\r\n"), 200),
        (format!("{own}Origin: http://evil.example\r\n"), 403),
        (format!("{own}Sec-Fetch-Site: cross-site\r\n"), 403),
        (format!("{own}Sec-Fetch-Site: same-site\r\n"), 403),
        (format!("Host: evil.example\r\n{session}"), 403),
        (format!("{own}Host: localhost\r\n"), 400),
    ] {
        let headers = format!("{headers}Connection: close\r\n");
        let (came, body) = answer(send(at, "GET /v1/tasks", &headers, ""));
        assert_eq!((came, body.contains("airline-0")), (status, status == 200), "{headers}");
    }
    // Other routes of the program are not those of the page.
    for path in ["/metrics", "/docs", "/api/v1/checkpoints", "/v1/../metrics"] {
        let (status, _) =
            answer(send(at, &format!("GET {path}"), &format!("{own}Connection: close\r\n"), ""));
        assert_eq!(status, 404, "{path}");
    }
    assert_eq!(page.end(), Some(0));
}
