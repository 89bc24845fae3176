//! `record` and `import` while another program has the store open: the same words and events,
//! through its socket.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use milepost::{Engine, Options};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::common::{Place, Ran, Serving, fixture, number, text};

const HELLO: &str = "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"hello\"}\n";
const TYPO: &str = "{\"kind\":\"mesage\",\"role\":\"user\",\"content\":\"hello\"}\n";

/// A folder with inputs of several formats, good and bad.
fn place(export: &str) -> Place {
    let place = Place::new();
    place.say("init").ok();
    let put = |from: &str, to: &str| {
        let to = place.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(fixture(from), to).unwrap();
    };
    for name in ["run.jsonl", "react.traj", "airline.json"] {
        put(name, name);
    }
    put("langgraph/checkpoints.sqlite", "graph/chat.db");
    put("tools.traj", "runs/x/tools.traj");
    put("tools.traj", "runs/y/tools.traj");
    place.write("runs/notes.txt", "no run");
    place.write("shared.export", export);
    place.write("cut.export", &export[..export.len() - 20]);
    place.write("typo.jsonl", HELLO.to_owned() + TYPO + "nope\n" + HELLO);
    place.write("bad.jsonl", HELLO.to_owned() + &"nope\n".repeat(30));
    place.write("oops.traj", "oops");
    place.write("empty.jsonl", "");
    let session = json!({"type": "user", "uuid": "u1", "parentUuid": "gone", "sessionId": "s1",
        "timestamp": "2025-01-01T00:00:00Z", "message": {"role": "user", "content": "hi"}});
    place.write("session.jsonl", format!("{session}\n{session}\n"));
    for step in 0..3 {
        let checkpoint = json!({"id": format!("ckpt-exec-{step}"), "execution_id": "exec",
            "step_name": format!("step_{step}"), "step_index": step,
            "timestamp": format!("2024-11-16T10:30:{step:02}.123456"), "state": {"at": step},
            "context": {}, "variables": {"rows": step}, "status": "success", "error": null,
            "metadata": {}});
        fs::create_dir_all(place.path("old")).unwrap();
        place.write(&format!("old/ckpt-exec-{step}.json"), checkpoint.to_string());
    }
    place.write("old/ckpt-exec-9.json", "{");
    place
}

fn places() -> (Place, Place) {
    let from = Place::new();
    from.write("shared.jsonl", HELLO);
    from.say("record shared.jsonl").ok();
    let export = from.say("export").ok();
    (place(&export), place(&export))
}

/// The output without what differs between two places: hashes.
fn plain(text: &str) -> String {
    let hash = |part: &str| match part.len() == 64 && part.bytes().all(|b| b.is_ascii_hexdigit()) {
        true => "HASH".to_owned(),
        false => part.to_owned(),
    };
    text.split('"').map(hash).collect::<Vec<_>>().join("\"")
}

fn both(here: &Place, there: &Place, line: &str) -> Ran {
    let (one, other) = (here.say(line), there.say(line));
    let seen = |ran: &Ran| (ran.code, plain(&ran.out), plain(&ran.err));
    assert_eq!(seen(&one), seen(&other), "{line}");
    other
}

/// The events and checkpoints of all tasks, without times and ids.
fn content(place: &Place) -> Value {
    let tasks = place.items("tasks --limit 100");
    let tasks = tasks.as_array().unwrap().iter().map(|task| {
        let id = text(task, "id");
        let events = place.lines(&format!("log {id}"));
        let events = events.into_iter().map(|event| {
            let mut body = event["body"].clone();
            if let Some(fields) = body.as_object_mut() {
                // Ids of checkpoints follow from times.
                fields.retain(|name, _| name != "parent");
            }
            body
        });
        json!({"id": id, "user": task["user"], "events": events.collect::<Vec<_>>()})
    });
    Value::Array(tasks.collect())
}

#[test]
fn files_and_folders_are_imported_through_the_socket_as_here() {
    let (here, there) = places();
    let serving = Serving::of(&there);
    let both = |line: &str| both(&here, &there, line);
    both("record run.jsonl").ok();
    both("record run.jsonl --task again --user bob --json").ok();
    both("record react.traj airline.json").ok();
    both("import graph/chat.db").ok();
    assert!(both("import old").err.contains("ckpt-exec-9.json"));
    both("import ./old --json");
    both("import runs --json");
    both("import session.jsonl --json");
    both("import cut.export").failed(3, "cut");
    both("import shared.export --json").ok();
    both("import shared.export --as copy").ok();
    // A failed import has the same message.
    both("record typo.jsonl");
    both("record typo.jsonl --strict --task strict");
    both("record typo.jsonl --allow-unknown --task known");
    assert!(both("import bad.jsonl --json").err.contains("10 more of these are not printed"));
    both("import cut.export missing.jsonl oops.traj run.jsonl empty.jsonl --json");
    both("import ./cut.export missing.jsonl oops.traj");
    both("import --strict run.jsonl missing.jsonl react.traj");
    both("record react.traj").failed(4, "exists already");
    both("record missing.jsonl").failed(1, "missing.jsonl");
    both("record oops.traj --format langgraph").failed(3, "oops.traj");
    both("record old").failed(1, "old");
    both("import run.jsonl react.traj --as x").failed(1, "--as names one task");
    both("import old --as x").failed(1, "--as is for an export");
    both("import shared.export --user bob").failed(1, "--user is not for an export");
    both("record react.traj --task t --event-max 100").failed(1, "--event-max");
    both("import graph --format swe-agent").failed(1, "swe-agent");
    assert_eq!(content(&here), content(&there));
    drop(serving);
    assert_eq!(content(&here), content(&there));
    there.say("verify").ok();
}

/// Runs it with a file as standard input.
fn piped(place: &Place, line: &str, name: &str) -> Ran {
    let input = fs::File::open(place.path(name)).unwrap();
    Ran::of(place.command(line.split(' ')).stdin(input).output().unwrap())
}

#[test]
fn lines_of_a_pipe_are_recorded_through_the_socket_as_here() {
    let (here, there) = places();
    let serving = Serving::of(&there);
    for (line, name) in [
        ("record - --task piped", "run.jsonl"),
        ("record - --task typo", "typo.jsonl"),
        ("record - --task known --allow-unknown", "typo.jsonl"),
        ("record - --task strict --strict", "typo.jsonl"),
        ("record - --task piped --json", "run.jsonl"),
        ("record - --task empty", "empty.jsonl"),
        ("import - --format jsonl --task imported --user bob", "run.jsonl"),
    ] {
        let (one, other) = (piped(&here, line, name), piped(&there, line, name));
        assert_eq!((one.code, one.out, one.err), (other.code, other.out, other.err), "{line}");
    }
    let mistyped = piped(&there, "record - --task other", "typo.jsonl");
    assert!(mistyped.err.contains("did you mean `message`?"), "{mistyped:?}");
    piped(&here, "record - --task other", "typo.jsonl");
    assert_eq!(content(&here), content(&there));
    // A file that is acknowledged is read line by line, too.
    let acks = |ran: Ran| ran.ok().lines().count();
    let line = "record run.jsonl --task acked --ack";
    assert_eq!(acks(here.say(line)), acks(there.say(line)));
    assert_eq!(content(&here), content(&there));
    drop(serving);
    there.say("verify").ok();
}

#[test]
fn a_pipe_with_anything_but_lines_is_refused_and_a_file_asked_for() {
    let (_, there) = places();
    let _serving = Serving::of(&there);
    for (line, name) in [
        ("record - --task t", "react.traj"),
        ("record - --task t --ack", "airline.json"),
        ("import -", "shared.export"),
    ] {
        piped(&there, line, name).failed(1, "name a file");
    }
    there.say("record react.traj --ack").failed(1, "name a file");
    assert_eq!(there.items("tasks"), json!([]));
    // One of several inputs keeps the others out of nothing.
    let ran = piped(&there, "record react.traj - --json", "run.jsonl");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(there.items("tasks").as_array().unwrap().len(), 1);
}

/// A program with a pipe on both sides.
fn acknowledging(place: &Place, task: &str) -> Child {
    let mut command = place.command(["record", "-", "--ack", "--task", task]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_line_is_acknowledged_once_it_is_durable_in_the_store_of_the_other_program() {
    let (_, place) = places();
    let serving = Serving::of(&place);
    let mut child = acknowledging(&place, "live");
    let mut stdin = child.stdin.take().unwrap();
    let mut acks = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said: Vec<Value> = Vec::new();
    for step in 1..=3_u64 {
        for kind in ["step_started", "step_finished"] {
            writeln!(stdin, "{{\"kind\":\"{kind}\",\"step\":{step}}}").unwrap();
            said.push(serde_json::from_str(&acks.next().unwrap().unwrap()).unwrap());
        }
    }
    // It is killed, not ended.
    drop(serving);
    let _ = writeln!(stdin, "{{\"kind\":\"step_started\",\"step\":4}}");
    drop(stdin);
    let ended = child.wait_with_output().unwrap();
    let failed = Ran::of(ended);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.err.contains("the program that answers at"), "{failed:?}");
    for ack in &said {
        let shown = place.json(&format!("show live@{}", number(ack, "offset")));
        assert_eq!(shown["hash"], ack["hash"], "{shown}");
    }
    let checkpoints = place.items("checkpoints live");
    let causes = checkpoints.as_array().unwrap().iter().map(|it| text(it, "cause"));
    assert_eq!(causes.collect::<Vec<_>>(), ["step", "step", "step"]);
    place.say("verify").ok();
}

/// Asks a service that needs no token.
fn ask(serving: &Serving, request: &str) -> Value {
    let at = serving.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(at).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").unwrap();
    let mut came = String::new();
    stream.read_to_string(&mut came).unwrap();
    serde_json::from_str(came.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Starts an import, and interrupts it once its job has made progress.
fn interrupted(place: &Place, serving: &Serving, path: &str) -> (Value, Ran) {
    let mut command = place.command(["import", path]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let job = loop {
        let jobs = ask(serving, "GET /v1/jobs");
        let job = jobs["items"][0].clone();
        match job["state"] == "running" && !job["progress"].is_null() {
            true => break job,
            false => std::thread::yield_now(),
        }
    };
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    (ask(serving, &format!("GET /v1/jobs/{}?wait=30", text(&job, "id"))), ran)
}

#[test]
fn an_interrupt_cancels_an_import_and_the_next_one_continues() {
    let place = Place::new();
    let lines: String = (0..60_000).map(|n| HELLO.replace("hello", &n.to_string())).collect();
    place.write("long.jsonl", &lines);
    place.say("record long.jsonl --task whole").ok();
    place.write("whole.export", place.say("export whole").ok());
    place.say("delete whole --yes").ok();
    let serving = Serving::of(&place);
    let (job, ran) = interrupted(&place, &serving, "long.jsonl");
    assert_eq!((ran.code, &job["state"]), (130, &json!("cancelled")), "{ran:?} {job}");
    let at = |job: &Value| {
        let failed = job["result"]["import"]["failed"][0].clone();
        (text(&failed, "input").to_owned(), text(&failed, "message").to_owned())
    };
    let (input, message) = at(&job);
    assert!(input == "long.jsonl" && message.ends_with("before stays"), "{job}");
    // Events recorded before the failure stay, as after a kill.
    let before = place.lines("log long").len();
    assert!(before < 60_000, "{before}");
    // An export is imported whole or not at all.
    let (job, ran) = interrupted(&place, &serving, "whole.export");
    assert_eq!((ran.code, &job["state"]), (130, &json!("cancelled")), "{ran:?} {job}");
    let (input, message) = at(&job);
    assert!(input == "whole.export" && message.ends_with("nothing of it is imported"), "{job}");
    assert_eq!(place.ids("tasks"), ["long"]);
    place.say("import whole.export").ok();
    place.write("short.jsonl", HELLO);
    place.say("import short.jsonl").ok();
    drop(serving);
    place.say("verify").ok();
}

#[test]
fn what_is_larger_than_the_other_program_accepts_is_refused_and_the_rest_is_recorded() {
    let (_, place) = places();
    let options = Options::default().event_max(300);
    let engine = Engine::open(place.store(), options).unwrap();
    let attached = milepost_server::attach(&engine).unwrap();
    let large = HELLO.replace("hello", &"x".repeat(2000));
    place.write("large.jsonl", HELLO.to_owned() + &large + HELLO);
    for line in ["record large.jsonl", "record large.jsonl --task acked --ack"] {
        let ran = place.say(line);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("large.jsonl:2: ") && ran.err.contains("over the limit of 300"));
    }
    for task in ["large", "acked"] {
        assert_eq!(place.lines(&format!("log {task} --kind message")).len(), 2, "{task}");
    }
    // A document is whole or not there.
    let message = json!({"role": "user", "content": "x".repeat(2000)});
    place.write("chat.json", json!([{"role": "user", "content": "hi"}, message]).to_string());
    place.say("record chat.json").failed(1, "accepts no larger events");
    assert!(!place.ids("tasks").contains(&"chat".to_owned()));
    drop(attached);
    engine.close().unwrap();
    place.say("record chat.json").ok();
}

#[test]
fn runs_are_recorded_line_by_line_by_a_service_at_an_address() {
    let (_, there) = places();
    let serving = Serving::of(&there);
    let elsewhere = Place::new();
    elsewhere.write("near.jsonl", HELLO);
    let server = ["--server", serving.url.as_str()];
    let ask = |line: &str| elsewhere.run(line.split(' ').chain(server));
    ask("record near.jsonl").ok();
    ask("import near.jsonl").failed(1, "machine");
    assert!(!Path::new(&elsewhere.store()).exists());
    assert_eq!(there.ids("tasks"), ["near"]);
}
