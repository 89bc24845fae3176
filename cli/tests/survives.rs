//! A service survives its users: one token does its worst, and another user's appends go through.
//!
//! Runs for `MILEPOST_HOSTILE_SECONDS`, and prints its measurements;
//! `MILEPOST_HOSTILE_USES=looks,blames` picks some of the uses.

// tidy: one measurement with all its uses

#![allow(clippy::print_stderr, clippy::disallowed_methods, reason = "a measurement")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::Place;

/// The bar: peak memory of the process in MiB, and the slowest of a hundred appends of another.
const PEAK_MIB: u64 = 512;
const P99: Duration = Duration::from_millis(50);

/// The time for which an unread answer and an idle connection are kept.
const HELD: Duration = Duration::from_secs(15);

/// A name, and the work that each of some threads repeats.
type Worst = (&'static str, usize, fn(&Service, usize));

const WORST: [Worst; 15] = [
    ("looks", 6, looks),
    ("differences", 6, differences),
    ("blames", 2, blames),
    ("plans", 2, plans),
    ("documents", 2, documents),
    ("unread streams", 4, unread_streams),
    ("unread answers", 4, unread_answers),
    ("slow bodies", 4, slow_bodies),
    ("deep bodies", 4, deep_bodies),
    ("idle connections", 1, idle),
    ("tasks", 1, tasks),
    ("large events", 1, large_events),
    ("exports", 2, exports),
    ("restores", 1, restores),
    ("cleanups", 1, cleanups),
];

struct Service {
    at: String,
    token: String,
    /// Answers by request and status; 0 for none.
    answers: Mutex<BTreeMap<(&'static str, u16), u64>>,
    stop: AtomicBool,
}

impl Service {
    fn request(&self, token: &str, method: &str, path: &str, more: &str, body: &[u8]) -> Vec<u8> {
        let at = &self.at;
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        request
    }

    fn open(&self, method: &str, path: &str, more: &str) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(&self.at).ok()?;
        let request = self.request(&self.token, method, path, more, b"");
        stream.write_all(&request).ok()?;
        Some(stream)
    }

    /// Asks on a connection of its own; the answer is counted, and read to its end.
    fn ask(&self, of: &'static str, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let close = "Connection: close\r\n";
        let request = self.request(&self.token, method, path, close, body);
        let answer = TcpStream::connect(&self.at).and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(90)))?;
            // The service rejects the request before it has read all of it.
            let _ = stream.write_all(&request);
            let mut came = Vec::new();
            let _ = stream.read_to_end(&mut came);
            Ok(came)
        });
        let came = answer.unwrap_or_default();
        let status = came.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
        let status = status.and_then(|digits| digits.parse().ok()).unwrap_or(0);
        *self.answers.lock().unwrap().entry((of, status)).or_default() += 1;
        if [429, 503, 507].contains(&status) {
            self.rest(Duration::from_millis(100));
        }
        (status, came)
    }

    fn append(&self, of: &'static str, task: &str, kind: &str, body: &Value) -> u16 {
        let event = json!({"kind": kind, "body": body}).to_string();
        self.ask(of, "POST", &format!("/v1/tasks/{task}/events"), event.as_bytes()).0
    }

    /// Waits, unless it is over.
    fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_over() && Instant::now() < end {
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn hold(&self, of: &'static str, open: Vec<Option<TcpStream>>) {
        let held = open.iter().flatten().count() as u64;
        *self.answers.lock().unwrap().entry((of, 1)).or_default() += held;
        self.rest(HELD);
    }
}

/// Makes an object of this many small ones.
fn fields(count: usize, seed: usize) -> Value {
    let field = |n: usize| (format!("{n:x}"), json!({"a": [n + seed]}));
    Value::Object((0..count).map(field).collect())
}

fn looks(service: &Service, n: usize) {
    let paths = [
        "/v1/points/wide/state",
        "/v1/points/wide/state?pointer=/artifacts/v/7/a",
        "/v1/points/long@3/state",
        "/v1/points/long@3/state?messages=1000",
        "/v1/points/doc/state?pointer=/variables/0/7",
        "/v1/points/long@2/event",
    ];
    service.ask("looks", "GET", paths[n % paths.len()], b"");
}

fn differences(service: &Service, n: usize) {
    let paths = [
        "/v1/points/wide@1/diff/wide@2",
        "/v1/points/long@1/diff/long@4",
        "/v1/points/wide@2/diff/long@4",
        "/v1/points/doc@1/diff/doc",
    ];
    service.ask("differences", "GET", paths[n % paths.len()], b"");
}

fn blames(service: &Service, n: usize) {
    let paths = [
        "/v1/points/wide/blame?pointer=/artifacts/v&history=true",
        "/v1/points/wide/blame?pointer=/artifacts/v/7",
    ];
    service.ask("blames", "GET", paths[n % paths.len()], b"");
}

fn plans(service: &Service, _: usize) {
    service.ask("plans", "POST", "/v1/restores/plan", br#"{"to": "wide@1"}"#);
}

/// A document that weighs as much as one may.
fn documents(service: &Service, n: usize) {
    let key = n * 7919 % 12;
    let patch = json!({"patch": {key.to_string(): fields(20_000, n)}});
    service.append("documents", "doc", "variables_patched", &patch);
    service.rest(Duration::from_secs(1));
}

fn unread_streams(service: &Service, n: usize) {
    let task = ["wide", "long", "doc", "busy"][n % 4];
    let path = format!("/v1/tasks/{task}/events?from=0");
    let open = (0..60).map(|_| service.open("GET", &path, "Accept: text/event-stream\r\n"));
    service.hold("unread streams", open.collect());
}

fn unread_answers(service: &Service, n: usize) {
    let accept = ["application/x-ndjson", "application/json"][n % 2];
    let accept = format!("Accept: {accept}\r\n");
    let open = (0..15).map(|_| service.open("GET", "/v1/tasks/long/events", &accept));
    service.hold("unread answers", open.collect());
}

fn slow_bodies(service: &Service, _: usize) {
    let request = |at: &str, token: &str| {
        format!(
            "POST /v1/tasks/busy/events HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
        )
    };
    let mut open = Vec::new();
    for _ in 0..8 {
        if let Ok(mut stream) = TcpStream::connect(&service.at) {
            let _ = stream.write_all(request(&service.at, &service.token).as_bytes());
            open.push(stream);
        }
    }
    for _ in 0..15 {
        open.iter_mut().for_each(|stream| drop(stream.write_all(b" ")));
        service.rest(Duration::from_secs(1));
    }
}

fn deep_bodies(service: &Service, n: usize) {
    let body = match n % 3 {
        0 => format!("{{\"aliases\": [{}\"\"]}}", "\"\",".repeat(4 << 20)),
        1 => format!("{{\"metadata\": {}", "[".repeat(12 << 20)),
        _ => format!("{{\"metadata\": {{\"a\": [{}0]}}}}", "{},".repeat(4 << 20)),
    };
    service.ask("deep bodies", "POST", "/v1/tasks/busy/checkpoints", body.as_bytes());
}

fn idle(service: &Service, _: usize) {
    let open = (0..600).map(|_| TcpStream::connect(&service.at).ok());
    service.hold("idle connections", open.collect());
}

fn tasks(service: &Service, _: usize) {
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let body = json!({"id": format!("t{now}"), "initial": {"artifacts": {"a": "x"}}}).to_string();
    service.ask("tasks", "POST", "/v1/tasks", body.as_bytes());
}

fn large_events(service: &Service, _: usize) {
    let said = json!({"role": "user", "content": "x".repeat(14 << 20)});
    service.append("large events", "busy", "message", &said);
    service.rest(Duration::from_secs(5));
}

fn exports(service: &Service, _: usize) {
    let Some(mut stream) = service.open(
        "GET",
        "/v1/tasks/busy/events",
        "Accept: application/x-ndjson\r\nConnection: close\r\n",
    ) else {
        return;
    };
    let mut buffer = vec![0; 1 << 20];
    while !service.is_over() && stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
}

fn restores(service: &Service, _: usize) {
    service.ask("restores", "POST", "/v1/restores", br#"{"to": "back@1"}"#);
    service.ask("restores", "POST", "/v1/tasks/back/undo", b"");
    let mark = br#"{"label": "a"}"#;
    service.ask("restores", "POST", "/v1/tasks/back/checkpoints", mark);
}

fn cleanups(service: &Service, _: usize) {
    let body = br#"{"user_id": "mallory", "keep_count": 3}"#;
    service.ask("cleanups", "POST", "/api/v0/checkpoint/direct/cleanup", body);
    service.ask("cleanups", "GET", "/v1/stats", b"");
    service.rest(Duration::from_secs(2));
}

/// Makes the tasks that the hostile token works with.
fn prepare(service: &Service) {
    for task in ["wide", "long", "doc", "busy", "back"] {
        let body = json!({"id": task}).to_string();
        assert_eq!(service.ask("prepared", "POST", "/v1/tasks", body.as_bytes()).0, 201);
    }
    for n in 0..2 {
        let value = json!({"v": fields(150_000, n)}).to_string();
        let path = "/v1/tasks/wide/artifacts";
        assert_eq!(service.ask("prepared", "PATCH", path, value.as_bytes()).0, 200);
    }
    for n in 0..4 {
        let said = json!({"role": "user", "content": n.to_string().repeat(15_000_000)});
        assert_eq!(service.append("prepared", "long", "message", &said), 201);
    }
    let said = json!({"role": "user", "content": "x"});
    assert_eq!(service.append("prepared", "back", "message", &said), 201);
}

fn serve(place: &Place) -> (Child, String) {
    let mut command = place.command(["serve", "--listen", "127.0.0.1:0", "--log", "none"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    while !line.contains("listening on http://") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
    }
    let at = line.rsplit_once("listening on http://").unwrap().1;
    (child, at.trim().trim_end_matches('/').to_owned())
}

/// Prints the memory of the process, and its counted part, each second.
fn watched(child: u32, service: &Service, admin: &str) {
    let begun = Instant::now();
    while !service.is_over() {
        service.rest(Duration::from_secs(1));
        let request = service.request(admin, "GET", "/metrics", "Connection: close\r\n", b"");
        let mut came = String::new();
        if let Ok(mut stream) = TcpStream::connect(&service.at) {
            let _ = stream.write_all(&request);
            let _ = stream.read_to_string(&mut came);
        }
        let counted =
            ["milepost_http_held_bytes", "milepost_applier_lag_bytes", "milepost_kept_state_bytes"];
        let counted = came.lines().filter(|line| counted.iter().any(|it| line.starts_with(it)));
        let counted: Vec<_> = counted
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(name, n)| {
                let name =
                    name.trim_start_matches("milepost_").trim_start_matches("http_held_bytes");
                format!("{name} {}", n.parse::<f64>().unwrap_or(0.0) as u64 >> 20)
            })
            .collect();
        let Ok(status) = std::fs::read_to_string(format!("/proc/{child}/status")) else {
            return;
        };
        let lines = ["VmHWM", "RssAnon", "RssFile", "Threads"];
        let lines = status.lines().filter(|line| lines.iter().any(|it| line.starts_with(it)));
        let lines: Vec<_> = lines
            .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
            .collect();
        eprintln!("{:?} {} | {}", begun.elapsed().as_secs(), lines.join(" "), counted.join(" "));
    }
}

fn peak_mib(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib / 1024
}

/// Measures another user's appends, at a steady rate, on one connection.
fn appends_of_another(service: &Service, token: &str, time: Duration) -> Vec<Duration> {
    let mut stream = TcpStream::connect(&service.at).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut one = |path: &str, body: &Value| {
        let body = body.to_string();
        let request = service.request(token, "POST", path, "", body.as_bytes());
        let begun = Instant::now();
        stream.write_all(&request).unwrap();
        let (mut line, mut length, mut status) = (String::new(), 0, String::new());
        loop {
            line.clear();
            answers.read_line(&mut line).unwrap();
            match line.trim().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().unwrap();
                }
                None if line.starts_with("HTTP") => status = line[9..12].to_owned(),
                None => break,
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        answers.read_exact(&mut body).unwrap();
        assert_eq!(status, "201", "{}", String::from_utf8_lossy(&body));
        begun.elapsed()
    };
    one("/v1/tasks", &json!({"id": "hers"}));
    let said = json!({"kind": "message", "body": {"role": "user", "content": "y".repeat(200)}});
    let (end, mut took) = (Instant::now() + time, Vec::new());
    while Instant::now() < end {
        let next = Instant::now() + Duration::from_millis(20);
        took.push(one("/v1/tasks/hers/events", &said));
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    took
}

#[test]
fn one_token_that_does_its_worst_leaves_the_service_to_the_others() {
    let seconds = std::env::var("MILEPOST_HOSTILE_SECONDS");
    let Some(seconds) = seconds.ok().and_then(|seconds| seconds.parse().ok()) else {
        return;
    };
    let place = Place::new();
    place.write("run.jsonl", r#"{"kind": "message", "role": "user", "content": "x"}"#);
    place.say("record --task seed run.jsonl").ok();
    let token = |user: &str| {
        let made = place.say(&format!("token create --user {user}"));
        assert_eq!(made.code, 0);
        made.out.trim().to_owned()
    };
    let (mallory, ana) = (token("mallory"), token("ana"));
    let admin = token("root --admin");
    let (mut child, at) = serve(&place);
    let service =
        Service { at, token: mallory, answers: Mutex::default(), stop: AtomicBool::new(false) };
    prepare(&service);
    let prepared = peak_mib(&child);
    let wanted = std::env::var("MILEPOST_HOSTILE_USES").ok();
    let wanted = |name: &str| wanted.as_ref().is_none_or(|all| all.split(',').any(|it| it == name));
    let mut took = thread::scope(|scope| {
        for (_, threads, worst) in WORST.into_iter().filter(|(name, ..)| wanted(name)) {
            for n in 0..threads {
                let service = &service;
                scope.spawn(move || {
                    for round in 0.. {
                        if service.is_over() {
                            return;
                        }
                        worst(service, n + round);
                    }
                });
            }
        }
        if std::env::var("MILEPOST_HOSTILE_WATCHED").is_ok() {
            let (child, service, admin) = (child.id(), &service, admin.as_str());
            scope.spawn(move || watched(child, service, admin));
        }
        let took = appends_of_another(&service, &ana, Duration::from_secs(seconds));
        service.stop.store(true, Ordering::Relaxed);
        took
    });
    let peak = peak_mib(&child);
    let ready = service.ask("ready", "GET", "/readyz", b"");
    took.sort_unstable();
    let at = |part: usize| took[(took.len() * part / 1000).min(took.len() - 1)];
    let (p50, p99, worst) = (at(500), at(990), at(1000));
    let answers = service.answers.lock().unwrap();
    for (name, _, _) in WORST {
        let of: Vec<_> = answers.iter().filter(|((of, _), _)| *of == name).collect();
        let of: Vec<_> =
            of.iter().map(|((_, status), count)| format!("{status}: {count}")).collect();
        eprintln!("{name}: {}", of.join(", "));
    }
    let broken: u64 =
        answers.iter().filter(|((_, status), _)| *status == 500).map(|(_, n)| n).sum();
    eprintln!(
        "{seconds} s: peak {peak} MiB (prepared: {prepared}), {} appends of another: p50 {p50:?}, \
         p99 {p99:?}, longest {worst:?}; {broken} answers of 500; /readyz {}",
        took.len(),
        ready.0
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((ready.0, broken), (200, 0));
    assert!(peak < PEAK_MIB, "{peak} MiB");
    assert!(p99 < P99, "{p99:?}");
}
