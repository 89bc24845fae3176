//! The store over HTTP, and its tokens.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use milepost_agent_tests::has_programs;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

use crate::common::Place;

/// A service that runs, and its address. It is killed where a test ends before it.
struct Service {
    child: Child,
    at: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Service {
    fn start(place: &Place, args: &[&str]) -> Self {
        Self::start_on(place, "127.0.0.1:0", args)
    }

    fn start_on(place: &Place, listen: &str, args: &[&str]) -> Self {
        let mut all = vec!["serve", "--listen", listen];
        all.extend(args);
        Self::started(place.command(&all))
    }

    fn started(mut command: std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let at = line.trim().strip_prefix("listening on ");
        let at = at.unwrap_or_else(|| panic!("{line:?}"));
        let at = at.strip_prefix("http://").unwrap_or(at).to_owned();
        Self { child, at }
    }

    /// Returns status and body of a request.
    fn ask(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> (u16, String) {
        let stream = TcpStream::connect(&self.at).unwrap();
        self.ask_on(stream, (method, path), token, body)
    }

    /// The same over a connection that is there.
    fn ask_on(
        &self,
        mut stream: TcpStream,
        (method, path): (&str, &str),
        token: Option<&str>,
        body: &str,
    ) -> (u16, String) {
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{body}",
            self.at,
            body.len(),
            token.unwrap_or_default()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut came = String::new();
        stream.read_to_string(&mut came).unwrap();
        let (head, body) = came.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    fn get(&self, path: &str, token: Option<&str>) -> (u16, Value) {
        let (status, body) = self.ask("GET", path, token, "");
        (status, serde_json::from_str(&body).unwrap())
    }

    /// Sends it a signal.
    fn send(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Asks it to stop; returns its exit code and its standard error.
    fn stop(mut self) -> (Option<i32>, String) {
        self.send(rustix::process::Signal::TERM);
        let code = self.child.wait().unwrap().code();
        let mut said = String::new();
        let mut err = self.child.stderr.take().unwrap();
        err.read_to_string(&mut said).unwrap();
        (code, said)
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_gives_freed_memory_back_unless_its_operator_sets_the_allocator() {
    const VARIABLE: &str = "_RJEM_MALLOC_CONF";
    for (given, settings) in [(None, "narenas:1,"), (Some("narenas:4"), "narenas:4")] {
        let place = Place::new();
        let mut command = place.command(["serve", "--listen", "127.0.0.1:0"]);
        if let Some(given) = given {
            command.env(VARIABLE, given);
        }
        let service = Service::started(command);
        // The same process: it is the one that a supervisor watches.
        let environment = std::fs::read(format!("/proc/{}/environ", service.child.id())).unwrap();
        let wanted = format!("{VARIABLE}={settings}");
        let is_set = |text: &[u8]| text.starts_with(wanted.as_bytes());
        assert!(environment.split(|byte| *byte == 0).any(is_set), "{wanted}");
        assert_eq!(service.ask("GET", "/healthz", None, "").0, 200);
        assert_eq!(service.stop().0, Some(0));
    }
}

#[test]
fn idle_connections_take_no_file_that_the_store_needs() {
    let place = Place::new();
    let limited = "ulimit -Sn 64; ulimit -Hn 256; exec \"$0\" \"$@\"";
    let serve = place.command(["serve", "--listen", "127.0.0.1:0"]);
    let program = serve.get_program().to_owned();
    let mut args = vec!["-c".into(), limited.into(), program];
    args.extend(serve.get_args().map(std::ffi::OsStr::to_owned));
    let service = Service::started(place.command_of("sh", args));
    assert_eq!(service.ask("POST", "/v1/tasks", None, r#"{"id": "t"}"#).0, 201);
    let before = TcpStream::connect(&service.at).unwrap();
    let mut idle: Vec<_> = (0..200).map(|_| TcpStream::connect(&service.at).unwrap()).collect();
    let mut refused = String::new();
    let _ = idle.pop().unwrap().read_to_string(&mut refused);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused:?}");
    // It needs a pack, which is opened for it.
    let content = "x".repeat(300_000);
    let event = json!({"kind": "message", "body": {"role": "user", "content": content}});
    let append = ("POST", "/v1/tasks/t/events");
    let (status, said) = service.ask_on(before, append, None, &event.to_string());
    assert_eq!(status, 201, "{said}");
    drop(idle);
    let mut tries = (0..10_000).map(|_| {
        let mut stream = TcpStream::connect(&service.at).unwrap();
        let _ = stream.write_all(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n");
        let mut came = String::new();
        let _ = stream.read_to_string(&mut came);
        came
    });
    assert!(tries.any(|came| came.contains(" 200 ")), "it is not ready");
    let (code, said) = service.stop();
    assert_eq!(code, Some(0), "{said}");
}

/// As when its terminal is closed.
#[test]
fn a_hangup_stops_it_as_cleanly() {
    let place = Place::recorded();
    let mut service = Service::start(&place, &["--log", "none"]);
    assert_eq!(service.ask("GET", "/healthz", None, "").0, 200);
    service.send(rustix::process::Signal::HUP);
    assert_eq!(service.child.wait().unwrap().code(), Some(0));
    let opened = place.run(["stats", "--json"]);
    opened.ok();
}

/// The keys of a JSON object, also those that are there twice.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Keys;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, _)) = map.next_entry::<String, IgnoredAny>()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[test]
fn a_store_is_served_and_stops_cleanly() {
    let place = Place::recorded();
    let service = Service::start(&place, &["--log", "json"]);
    assert_eq!(service.ask("GET", "/healthz", None, ""), (200, "ok\n".into()));
    assert_eq!(service.ask("GET", "/readyz", None, ""), (200, "ready\n".into()));
    let (status, stats) = service.get("/api/v0/checkpoint/direct/stats?user_id=ada", None);
    assert_eq!((status, &stats["data"]["user_id"]), (200, &json!("ada")));
    assert_eq!(stats["data"]["thread_count"], 6);
    let (status, list) = service.get("/api/v1/tasks/run/checkpoints", None);
    assert_eq!(status, 200, "{list}");
    assert_eq!(list["data"]["total"], list["data"]["checkpoints"].as_array().unwrap().len());
    // The store is in use by the service, which answers the command.
    assert!(place.run(["tasks"]).ok().contains("history_only"));
    place.run(["mark", "run", "good"]).ok();
    let (code, said) = service.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no token was created") && said.contains("stopping"), "{said}");
    let logged = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let routes: Vec<Value> = logged.map(|line| line["route"].clone()).collect();
    assert!(routes.contains(&json!("/api/v1/tasks/{task}/checkpoints")), "{said}");
    let audit = said.lines().filter(|line| line.contains(r#""target":"milepost::audit""#));
    let keys: Vec<Vec<String>> =
        audit.map(|line| serde_json::from_str::<Keys>(line).unwrap().0).collect();
    assert!(!keys.is_empty(), "{said}");
    for keys in keys {
        let distinct: BTreeSet<&String> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len(), "a key twice: {keys:?}");
        assert!(keys.iter().any(|key| key == "timestamp"));
    }
    place.run(["verify"]).ok();
}

#[test]
fn tokens_are_made_listed_and_revoked_while_it_runs() {
    let place = Place::recorded();
    assert_eq!(place.run(["token", "list", "--json"]).ok(), "[]\n");
    let service = Service::start(&place, &["--log", "none"]);
    let path = "/api/v1/tasks/run/checkpoints";
    assert_eq!(service.get(path, None).0, 200);
    let made = place.run(["token", "create", "--user", "ada"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert!(made.err.contains("from now on"), "{made:?}");
    let ada = made.out.trim();
    let eve = place.run(["token", "create", "--user", "eve", "--expires", "1h", "--json"]).ok();
    let eve: Value = serde_json::from_str(&eve).unwrap();
    let hers = eve["token"].as_str().unwrap();
    assert_eq!(service.get(path, None).0, 401);
    assert_eq!(service.get(path, Some(ada)).0, 200);
    assert_eq!(service.get(path, Some(hers)).0, 404);
    let listed: Value = serde_json::from_str(&place.run(["token", "list", "--json"]).ok()).unwrap();
    let users: Vec<&Value> =
        listed.as_array().unwrap().iter().map(|token| &token["user"]).collect();
    assert_eq!(users, ["ada", "eve"]);
    assert!(!listed.to_string().contains(ada) && eve["expires"].is_string());
    let id = listed[0]["id"].as_str().unwrap();
    place.run(["token", "revoke", id]).ok();
    assert_eq!(service.get(path, Some(ada)).0, 401);
    let table = place.run(["token", "list"]).ok();
    assert!(table.contains("revoked") && table.contains("own tasks"), "{table}");
    let whole = format!("mp_{}_rest", eve["id"].as_str().unwrap());
    place.run(["token", "revoke", &whole]).ok();
    assert_eq!(service.get(path, Some(hers)).0, 401);
    place.run(["token", "revoke", "00000000"]).failed(1, "there is no token");
}

#[test]
fn it_listens_elsewhere_only_with_tokens_and_says_why_it_cannot() {
    let place = Place::recorded();
    let open = place.run(["serve", "--listen", "0.0.0.0:0"]);
    open.failed(1, "no token was created");
    let service = Service::start(&place, &[]);
    let other = Place::recorded();
    let taken = other.run(["serve", "--listen", &service.at, "--log", "none"]);
    taken.failed(1, "cannot listen");
    let held = place.run(["serve", "--listen", "127.0.0.1:0"]);
    assert!(held.code == 1 && held.err.contains("error: "), "{held:?}");
}

#[test]
fn pages_of_others_and_names_of_others_are_refused() {
    let place = Place::recorded();
    let service = Service::start(&place, &["--log", "none"]);
    let path = "/api/v0/checkpoint/direct/cleanup";
    let ask = |headers: &str, host: &str| {
        let mut stream = TcpStream::connect(&service.at).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: 0\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut came = String::new();
        stream.read_to_string(&mut came).unwrap();
        came.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    assert_eq!(ask("Origin: http://evil.example\r\n", &service.at), 403);
    assert_eq!(ask("Sec-Fetch-Site: cross-site\r\n", &service.at), 403);
    assert_eq!(ask("", "evil.example:80"), 403);
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:7733", &service.at] {
        assert_eq!(ask("", host), 200, "{host}");
    }
    assert_eq!(ask("Sec-Fetch-Site: none\r\n", &service.at), 200);
}

#[test]
fn tokens_may_be_made_before_the_store() {
    let place = Place::new();
    std::fs::create_dir(place.store()).unwrap();
    let made = place.run(["token", "create", "--user", "root", "--admin"]);
    assert_eq!(made.code, 0, "{made:?}");
    let service = Service::start(&place, &["--log", "none"]);
    let stats = "/api/v0/checkpoint/direct/stats";
    assert_eq!(service.get(stats, None).0, 401);
    assert_eq!(service.get(stats, Some(made.out.trim())).0, 200);
}

#[test]
fn a_cleanup_by_the_service_is_in_the_log_of_the_store() {
    let place = Place::recorded();
    let service = Service::start(&place, &["--keep-count", "1", "--log", "none"]);
    let (status, body) = service.ask("POST", "/api/v0/checkpoint/direct/cleanup", None, "{}");
    let cleaned: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &cleaned["data"]["keep_count"]), (200, &json!(1)));
    let deleted = cleaned["data"]["total_deleted"].as_u64().unwrap();
    assert_eq!(service.stop().0, Some(0));
    let left = place.run(["checkpoints", "--json"]).ok();
    let left: Value = serde_json::from_str(&left).unwrap();
    let left = left["items"].as_array().unwrap().len();
    assert!(deleted > 0 && left <= 6, "{deleted} {left}");
}

#[test]
fn seed_003_a_cleanup_by_the_service_makes_a_backup_where_it_is_asked_for() {
    let place = Place::recorded();
    let service = Service::start(&place, &["--log", "none"]);
    let ask = |path: &str, body: &str| {
        let (status, body) = service.ask("POST", path, None, body);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    let direct = "/api/v0/checkpoint/direct/cleanup";
    let body = r#"{"keep_count": 2, "thread_id": "airline-0", "backup": true}"#;
    let cleaned = ask(direct, body)["data"].take();
    assert!(place.store().join(cleaned["backup"].as_str().unwrap()).is_file(), "{cleaned}");
    assert!(ask(direct, r#"{"keep_count": 2}"#)["data"].get("backup").is_none());
    let retained = ask("/v1/retention", r#"{"keep_count": 1, "backup": true}"#);
    let file = place.store().join(retained["backup"].as_str().unwrap());
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("airline-0") && text.contains("\"run\""));
    // The command has a socket for itself, too.
    let done = place.run(["cleanup", "--keep", "0", "--yes", "--backup", "--json"]).ok();
    assert!(done.contains("\"backup\":\"backups/"), "{done}");
}

#[test]
fn seed_001_ac4_a_client_that_only_posts_gets_a_checkpoint_a_step_and_one_when_it_is_idle() {
    let place = Place::recorded();
    let config = place.write("serve.toml", "[checkpoints]\nautosave_after = \"50ms\"\n");
    let service = Service::start(&place, &["--log", "none", "--config", config.to_str().unwrap()]);
    let post = |path: &str, body: &str| {
        let (status, came) = service.ask("POST", &format!("/v1/tasks{path}"), None, body);
        assert!(status == 200 || status == 201, "{came}");
        serde_json::from_str::<Value>(&came).unwrap()
    };
    post("", r#"{"id": "exec-001"}"#);
    post("/exec-001/events", r#"{"kind": "step_started", "body": {"step": 1}}"#);
    let ended = post("/exec-001/events", r#"{"kind": "step_finished", "body": {"step": 1}}"#);
    assert!(ended["checkpoint"].is_string(), "{ended}");
    post("/exec-001/guidance", r#"{"text": "shorter"}"#);
    let idle = std::iter::repeat_with(|| {
        let (_, came) = service.ask("GET", "/v1/tasks/exec-001/checkpoints", None, "");
        let came: Value = serde_json::from_str(&came).unwrap();
        came["items"].as_array().unwrap().iter().any(|mark| mark["cause"] == "idle")
    });
    let mut idle = idle.take(20_000);
    assert!(idle.any(|is_saved| is_saved));
    assert_eq!(service.stop().0, Some(0));
}

/// Runs curl.
fn curl(args: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new("curl");
    command.arg("-sS").args(args);
    command.output().unwrap()
}

#[test]
fn a_socket_answers_curl_and_goes_with_the_service() {
    if !has_programs(&["curl"]) {
        return;
    }
    let place = Place::recorded();
    let socket = place.path("socket");
    let listen = format!("unix:{}", socket.display());
    let service = Service::start_on(&place, &listen, &["--log", "none"]);
    assert_eq!(service.at, listen);
    let path = socket.to_str().unwrap();
    let came = curl(&["-f", "--unix-socket", path, "http://any/v1/tasks/run"]);
    let task: Value = serde_json::from_slice(&came.stdout).unwrap();
    assert_eq!(task["id"], "run", "{came:?}");
    let packed = ["-f", "--compressed", "-D", "-", "--unix-socket", path];
    let asked = [&packed[..], &["http://any/v1/tasks/run/events"]].concat();
    let came = curl(&asked);
    let came = String::from_utf8(came.stdout).unwrap();
    assert!(came.to_lowercase().contains("content-encoding: "), "{came}");
    assert!(came.contains("\"kind\""), "{came}");
    let other = Place::recorded();
    let taken = other.run(["serve", "--listen", &listen]);
    taken.failed(1, "in use");
    let (code, said) = service.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no token was created") && !socket.exists());
    // One that is killed leaves it, and the next takes its place.
    let mut killed = Service::start_on(&place, &listen, &["--log", "none"]);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert!(socket.exists());
    let again = Service::start_on(&place, &listen, &["--log", "none"]);
    let came = curl(&["-f", "--unix-socket", path, "http://any/healthz"]);
    assert_eq!(came.stdout, b"ok\n");
    drop(again);
    let long = format!("unix:/tmp/{}", "x".repeat(200));
    let most = if cfg!(milepost_portable) { "at most 103 bytes" } else { "at most 107 bytes" };
    place.run(["serve", "--listen", &long]).failed(1, most);
}

/// A certificate of its own and its key, for `localhost`.
fn certificate(place: &Place) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(place.path("certificate"), made.cert.pem()).unwrap();
    std::fs::write(place.path("key"), made.signing_key.serialize_pem()).unwrap();
}

#[test]
fn a_certificate_is_read_again_when_the_service_is_told_to() {
    if !has_programs(&["curl"]) {
        return;
    }
    let place = Place::recorded();
    let settings = place.path("settings.toml");
    let of = |name: &str| place.path(name).display().to_string();
    let text = format!("[tls]\ncertificate = {:?}\nkey = {:?}\n", of("certificate"), of("key"));
    std::fs::write(&settings, text).unwrap();
    let args = ["--config", settings.to_str().unwrap()];
    let none = place.run([&["serve", "--listen", "127.0.0.1:0"][..], &args].concat());
    none.failed(1, "cannot read the certificate");
    certificate(&place);
    let mut service = Service::start_on(&place, "127.0.0.1:0", &args);
    let port = service.at.strip_prefix("https://127.0.0.1:").unwrap();
    let there = format!("https://localhost:{port}/healthz");
    let asks = |trusted: &str| {
        let known = curl(&["-f", "--cacert", trusted, &there]);
        known.stdout == b"ok\n"
    };
    std::fs::copy(of("certificate"), of("old")).unwrap();
    assert!(asks(&of("old")));
    certificate(&place);
    assert!(!asks(&of("certificate")), "nobody told it");
    let mut log = BufReader::new(service.child.stderr.take().unwrap());
    let mut told = |service: &Service, until: &str| {
        service.send(rustix::process::Signal::HUP);
        let mut line = String::new();
        while !line.contains(until) {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "it goes on");
        }
        line
    };
    told(&service, "was read again");
    assert!(asks(&of("certificate")) && !asks(&of("old")));
    std::fs::write(of("key"), "damaged").unwrap();
    let said = told(&service, "stays what it was");
    assert!(said.contains("ERROR") && said.contains("key"), "{said}");
    assert!(asks(&of("certificate")));
}
