//! H1: a service that is killed under load has every append that it answered with a 2xx; other
//! appends are there once or not at all, and once after a repetition with their key.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::common::Place;

const WRITERS: usize = 8;
const ROUNDS: usize = 4;

/// Answers after which it is killed.
const ENOUGH: usize = 60;

fn serve(place: &Place) -> (Child, String) {
    let mut command = place.command(["serve", "--listen", "127.0.0.1:0", "--log", "none"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let at = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
    (child, at)
}

/// The status and body of an answer that came whole.
fn post(at: &str, path: &str, key: Option<&str>, body: &str) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(at).ok()?;
    let key = key.map_or_else(String::new, |key| format!("Idempotency-Key: {key}\r\n"));
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         {key}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut came = String::new();
    stream.read_to_string(&mut came).ok()?;
    let (head, body) = came.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).ok()?))
}

fn append(at: &str, key: &str) -> Option<(u16, Value)> {
    let body = format!(r#"{{"kind": "message", "body": {{"role": "user", "content": "{key}"}}}}"#);
    post(at, "/v1/tasks/essay/events", Some(key), &body)
}

/// Returns the address of each message, and asserts that it is there once.
fn messages(place: &Place) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for event in place.lines("--json log essay") {
        if event["kind"] == "message" {
            let content = event["body"]["content"].as_str().unwrap().to_owned();
            let offset = event["offset"].as_u64().unwrap();
            assert!(found.insert(content, offset).is_none(), "it is there once");
        }
    }
    found
}

#[test]
fn a_service_that_is_killed_under_load_has_every_append_that_it_answered() {
    let place = Place::new();
    let (mut child, mut at) = serve(&place);
    let made = post(&at, "/v1/tasks", None, r#"{"id": "essay"}"#);
    assert_eq!(made.map(|(status, _)| status), Some(201));
    // Answered messages with their addresses; requests without an answer are not in it.
    let answered: Mutex<BTreeMap<String, u64>> = Mutex::default();
    for round in 0..ROUNDS {
        let unknown: Mutex<Vec<String>> = Mutex::default();
        let count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let writer = |writer| {
                let (answered, unknown, count, at) = (&answered, &unknown, &count, &at);
                scope.spawn(move || {
                    for n in 0.. {
                        let key = format!("{round}-{writer}-{n}");
                        match append(at, &key) {
                            Some((201, body)) => {
                                let first = body["first"].as_u64().unwrap();
                                answered.lock().unwrap().insert(key, first);
                                count.fetch_add(1, Ordering::Relaxed);
                            }
                            Some((status, body)) => panic!("{status} {body}"),
                            None => return unknown.lock().unwrap().push(key),
                        }
                    }
                })
            };
            let writers: Vec<_> = (0..WRITERS).map(writer).collect();
            let at_work = || !writers.iter().all(|writer| writer.is_finished());
            while count.load(Ordering::Relaxed) < ENOUGH && at_work() {
                std::thread::yield_now();
            }
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let there = messages(&place);
        for (key, first) in answered.lock().unwrap().iter() {
            assert_eq!(there.get(key), Some(first), "{key} was answered");
        }
        (child, at) = serve(&place);
        for key in unknown.into_inner().unwrap() {
            let (status, body) = append(&at, &key).unwrap();
            let was_there = there.get(&key);
            assert_eq!(status, if was_there.is_some() { 200 } else { 201 }, "{key}");
            assert_eq!(body["repeated"], was_there.is_some(), "{key}");
            let first = body["first"].as_u64().unwrap();
            answered.lock().unwrap().insert(key, first);
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(messages(&place), answered.into_inner().unwrap());
}
