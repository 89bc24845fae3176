//! Bytes that are no request, or nearly one, over a socket.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::served::Served;

/// A store behind a socket, with a task that could be appended to.
struct Behind {
    served: Served,
    at: SocketAddr,
}

impl Behind {
    async fn new() -> Self {
        let served = Served::new();
        served.task("hers", "ana", 1);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let router = served.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { served, at }
    }

    /// Sends bytes, and returns the answer. With `ends`, closes the sending side.
    async fn send(&self, bytes: &[u8], ends: bool) -> String {
        let (at, bytes) = (self.at, bytes.to_vec());
        let sent = tokio::task::spawn_blocking(move || {
            let mut socket = TcpStream::connect(at).unwrap();
            // So that a hang fails.
            let limit = Some(Duration::from_secs(60));
            socket.set_read_timeout(limit).unwrap();
            socket.set_write_timeout(limit).unwrap();
            // The server may answer before it has read the whole request.
            let _ = socket.write_all(&bytes);
            if ends {
                let _ = socket.shutdown(Shutdown::Write);
            }
            let mut came = Vec::new();
            match socket.read_to_end(&mut came) {
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => panic!("no end came"),
                _ => String::from_utf8_lossy(&came).into_owned(),
            }
        });
        sent.await.unwrap()
    }

    /// That it was refused, or the connection ended, and that nothing came of it.
    async fn refuses(&self, bytes: &[u8], ends: bool) -> String {
        let before = self.served.engine.store().metrics().commits;
        let came = self.send(bytes, ends).await;
        let text = String::from_utf8_lossy(bytes);
        let text: String = text.chars().take(120).collect();
        let refused = came.is_empty() || came.starts_with("HTTP/1.1 4");
        assert!(refused, "{text:?}: {came}");
        let healthy = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let healthy = self.send(healthy, false).await;
        assert!(healthy.starts_with("HTTP/1.1 200"), "{text:?}: {healthy}");
        assert_eq!(self.served.engine.store().metrics().commits, before, "{text:?}");
        came
    }
}

/// An append with these headers and this body.
fn append(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /v1/tasks/hers/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\n{headers}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn asked(line: &str, headers: &str) -> Vec<u8> {
    format!("{line}\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n").into_bytes()
}

const EVENT: &[u8] = br#"{"kind": "step_started", "body": {"step": 1}}"#;

#[tokio::test]
async fn a_length_that_lies_appends_nothing() {
    let behind = Behind::new().await;
    let len = EVENT.len();
    let twice = format!("Content-Length: {len}\r\nContent-Length: {}", len + 1);
    let both = format!("Content-Length: {len}\r\nTransfer-Encoding: chunked");
    for (headers, ends) in [
        (format!("Content-Length: {}", len + 1), true),
        ("Content-Length: 10".into(), true),
        ("Content-Length: 0".into(), true),
        (twice, true),
        (both, true),
        ("Content-Length: -1".into(), true),
        ("Content-Length: 99999999999999999999".into(), true),
        ("Content-Length: 18446744073709551615".into(), true),
        (format!("Content-Length: {len}, {len}1"), true),
        (format!("Content-Length: +{len}"), true),
        ("Transfer-Encoding: chunked".into(), true),
        ("Transfer-Encoding: gzip".into(), true),
        ("Transfer-Encoding: chunked, gzip".into(), true),
    ] {
        behind.refuses(&append(&headers, EVENT), ends).await;
    }
    let whole = format!("Content-Length: {len}");
    let well = behind.send(&append(&whole, EVENT), false).await;
    assert!(well.starts_with("HTTP/1.1 201"), "{well}");
}

#[tokio::test]
async fn chunks_that_are_none_append_nothing() {
    let behind = Behind::new().await;
    let begin = format!("{:x}\r\n{}\r\n", EVENT.len(), str::from_utf8(EVENT).unwrap());
    let long = format!("{};{}\r\n", 5, "x".repeat(100_000));
    for body in [
        "zz\r\n{}\r\n0\r\n\r\n".to_owned(),
        "-1\r\n{}\r\n0\r\n\r\n".into(),
        "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n".into(),
        "fffffffffffffff\r\n{}".into(),
        "2\r\n{}xx0\r\n\r\n".into(),
        "\r\n\r\n".into(),
        long,
        format!("{begin}zz\r\n"),
        begin,
    ] {
        let bytes = append("Transfer-Encoding: chunked", body.as_bytes());
        behind.refuses(&bytes, true).await;
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let behind = Behind::new().await;
    let many: String = (0..2000).map(|n| format!("X-{n}: y\r\n")).collect();
    for bytes in [
        b"\0\0\0\0\r\n\r\n".to_vec(),
        vec![0xff; 100],
        b"GET\r\n\r\n".to_vec(),
        b"GET /healthz\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        asked("GET /healthz HTTP/9.9", ""),
        asked("GET  /healthz HTTP/1.1", ""),
        asked("GET /v1/tasks/\u{fc} HTTP/1.1", ""),
        asked("GET /v1/tasks/\0 HTTP/1.1", ""),
        asked("GET /../../etc/passwd HTTP/1.1", ""),
        asked("GET http://elsewhere.invalid/v1/nothing HTTP/1.1", ""),
        asked("CONNECT elsewhere.invalid:80 HTTP/1.1", ""),
        asked("TRACE /v1/tasks HTTP/1.1", ""),
        asked("QUITE-ANOTHER /v1/tasks HTTP/1.1", ""),
        asked(&format!("GET /{} HTTP/1.1", "x".repeat(100_000)), ""),
        asked(&format!("{} /healthz HTTP/1.1", "X".repeat(100_000)), ""),
        asked("GET /v1/nothing HTTP/1.1", &many),
        asked("GET /v1/nothing HTTP/1.1", &format!("X: {}\r\n", "y".repeat(1_000_000))),
        asked("GET /v1/nothing HTTP/1.1", "No colon\r\n"),
        asked("GET /v1/nothing HTTP/1.1", "X\0Y: z\r\n"),
        asked("GET /v1/nothing HTTP/1.1", "Host: other\r\n"),
    ] {
        behind.refuses(&bytes, true).await;
    }
}

#[tokio::test]
async fn a_header_brings_no_other_one_into_an_answer() {
    let behind = Behind::new().await;
    for value in [
        "a\r\n Injected: b",
        "a\rInjected: b",
        "a\nInjected: b",
        "a\0Injected: b",
        "a%0d%0aInjected: b",
        "a\u{2028}Injected: b",
    ] {
        for name in ["X-Request-Id", "Idempotency-Key", "If-None-Match", "Authorization"] {
            let bytes = asked("GET /v1/nothing HTTP/1.1", &format!("{name}: {value}\r\n"));
            let came = behind.refuses(&bytes, true).await;
            let head = came.split("\r\n\r\n").next().unwrap_or_default();
            let injected = head.to_ascii_lowercase().contains("injected");
            assert!(!injected, "{name}: {value:?}: {came}");
        }
    }
}
