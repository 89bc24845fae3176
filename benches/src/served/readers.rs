//! Many readers of one event stream.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Time for which a reader waits for the next bytes. The service sends something every 15 seconds.
const SILENCE: Duration = Duration::from_secs(30);

/// Reads the offsets from `first` on to `end`; panics where one is missing, or comes twice.
pub async fn read(at: &str, task: &str, first: u64, end: u64) {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let asked = format!(
        "GET /v1/tasks/{task}/events?from={first} HTTP/1.1\r\nHost: {at}\r\nAccept: text/event-stream\r\n\r\n"
    );
    stream.write_all(asked.as_bytes()).await.unwrap();
    let (mut next, mut rest) = (first, Vec::new());
    let mut piece = vec![0; 16 << 10];
    while next < end {
        let read = tokio::time::timeout(SILENCE, stream.read(&mut piece)).await;
        let read = read.expect("a stream is silent").unwrap();
        assert!(read > 0, "a stream ended at {next} of {end}");
        rest.extend_from_slice(&piece[..read]);
        next = take(&mut rest, next);
    }
}

/// Takes whole lines, and checks those that name the next event: `id: LINEAGE:NEXT`. The sizes of
/// the answer's chunks have lines of their own.
fn take(rest: &mut Vec<u8>, mut next: u64) -> u64 {
    let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else {
        return next;
    };
    for line in rest[..end].split(|byte| *byte == b'\n') {
        if let Some(id) = line.strip_prefix(b"id: 0:") {
            let id: u64 = std::str::from_utf8(id).unwrap().trim().parse().unwrap();
            assert_eq!(id, next + 1, "skipped or repeated");
            next = id;
        }
    }
    rest.drain(..=end);
    next
}

/// Appends an event, on a connection of its own.
pub async fn append(at: &str, task: &str) {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let body = r#"{"kind":"step_started","body":{"step":1}}"#;
    let asked = format!(
        "POST /v1/tasks/{task}/events HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 201"), "{}", String::from_utf8_lossy(&answer));
}
