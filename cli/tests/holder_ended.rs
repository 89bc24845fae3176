//! The program that has the store open ends while a command asks it: the command asks again, and
//! asks for nothing twice that may have been done.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use crate::common::{Place, Serving};

/// The end of the program: at the first request with this method.
#[derive(Clone, Copy)]
enum Ends {
    /// Ends without reading the request.
    Before(&'static str),
    /// Executes the request, and loses the answer.
    BeforeTheAnswer(&'static str),
    /// Its answer is its last one.
    Behind(&'static str),
}

/// Serves the store of a place, and relays the connections of its socket until it ends.
fn serve(place: &Place, ends: Ends) -> JoinHandle<()> {
    let serving = Serving::of(place);
    let socket = place.store().join("server/socket");
    let service = socket.with_file_name("service");
    fs::rename(&socket, &service).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let end = move |serving: Serving| {
        drop(serving);
        fs::remove_file(&socket).unwrap();
    };
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // A look whether it listens sends nothing.
            let Some(request) = request(&mut stream) else { continue };
            let is_it = |method: &str| {
                request.starts_with(method.as_bytes()) && !request.starts_with(b"GET /healthz")
            };
            match ends {
                Ends::Before(method) if is_it(method) => return end(serving),
                Ends::BeforeTheAnswer(method) if is_it(method) => {
                    answer(&service, &request);
                    return end(serving);
                }
                Ends::Behind(method) if is_it(method) => {
                    let answered = answer(&service, &request);
                    end(serving);
                    return stream.write_all(&answered).unwrap();
                }
                _ => stream.write_all(&answer(&service, &request)).unwrap(),
            }
        }
    })
}

/// Reads a request, which is the last one of its connection; `None` if nothing was sent.
fn request(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let head = request.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
            let length = text
                .split("content-length: ")
                .nth(1)
                .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse::<usize>().unwrap());
            if request.len() >= head + 4 + length {
                request.splice(head..head, *b"\r\nconnection: close");
                return Some(request);
            }
        }
        match stream.read(&mut piece).unwrap() {
            0 => return None,
            count => request.extend_from_slice(&piece[..count]),
        }
    }
}

fn answer(service: &PathBuf, request: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(service).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

/// Counts the guidance of a run beyond what its file has.
fn guidance(place: &Place) -> usize {
    place.lines("log run --kind guidance_given").len() - 1
}

#[test]
fn a_command_asks_again_where_the_program_that_had_the_store_ended_first() {
    let place = Place::recorded();
    let lines = [
        "tasks --utc",
        "lineages run --json",
        "log run -n 2 --utc",
        "show run@4",
        "state run@4 --json",
        "checkpoints run --json",
        "search hello --json",
        "transcript run --json",
        "compare run airline-0 --json",
        "pins run",
        "blame run /step",
        "diff run@2 run@4",
        "undo run --dry-run",
    ];
    for line in lines {
        let here = place.say(line);
        let served = serve(&place, Ends::Before("GET"));
        let there = place.say(line);
        served.join().unwrap();
        assert_eq!((there.code, &there.out), (here.code, &here.out), "{line}: {there:?}");
        assert!(!there.err.contains("socket"), "{line}: {there:?}");
    }
    for (ends, count) in [(Ends::Before("GET"), 1), (Ends::Behind("GET"), 2)] {
        let served = serve(&place, ends);
        place.say("guide run faster").ok();
        served.join().unwrap();
        assert_eq!(guidance(&place), count);
    }
}

#[test]
fn what_may_have_been_done_is_not_done_twice() {
    let place = Place::recorded();
    for (ends, count) in [(Ends::Before("POST"), 0), (Ends::BeforeTheAnswer("POST"), 1)] {
        let served = serve(&place, ends);
        let ran = place.say("guide run faster");
        served.join().unwrap();
        ran.failed(1, "may have been done");
        assert_eq!(guidance(&place), count);
    }
}
