//! Connections: slow, long and oversized requests, and their ends.

use std::time::Duration;

use milepost_server::ServerOptions;
use tokio::io::AsyncReadExt as _;
use tokio::time::{sleep, timeout};

use crate::listening::{Client, LONG, get, run, settle};
use crate::served::Served;

const SECOND: Duration = Duration::from_secs(1);

/// A request that starts a task, as far as its body.
fn start(len: usize) -> String {
    format!("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len}\r\n\r\n")
}

#[tokio::test(start_paused = true)]
async fn a_head_that_comes_byte_by_byte_is_cut_off_and_others_are_answered() {
    let served = Served::with(ServerOptions::default().read_timeout(SECOND));
    let (_running, at) = run(served.server()).await;
    let mut slow = Client::to(at).await;
    let mut sent = 0;
    for byte in get("/a-path-that-is-long-enough-to-go-on-for-a-while").chars() {
        slow.send(&byte.to_string()).await;
        sent += 1;
        let mut byte = [0];
        let heard = timeout(SECOND / 5, slow.0.read(&mut byte)).await;
        if heard.is_ok() {
            break;
        }
        let mut quick = Client::to(at).await;
        assert_eq!(quick.get("/healthz").await.status(), 200);
    }
    // Each byte begins no new time.
    assert!((2..10).contains(&sent), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_is_answered_408_and_its_connection_closed() {
    let served = Served::with(ServerOptions::default().read_timeout(SECOND));
    let (_running, at) = run(served.server()).await;
    let mut slow = Client::to(at).await;
    slow.send(&(start(100) + "{")).await;
    let came = slow.answer().await;
    assert_eq!(came.status(), 408, "{came:?}");
    assert!(came.body.contains("/timeout\"") && came.body.contains("did not come"));
    assert!(came.head.contains("connection: close"), "{came:?}");
    assert!(slow.is_closed().await);
    assert!(served.engine.task("slow").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_body_may_come_slowly_as_long_as_it_comes() {
    let limits = ServerOptions::default().read_timeout(SECOND);
    let served = Served::with(limits.request_timeout(SECOND));
    let (_running, at) = run(served.server()).await;
    let mut slow = Client::to(at).await;
    let body = r#"{"id": "slow"}"#;
    slow.send(&start(body.len())).await;
    for byte in body.chars() {
        // All of it takes longer than an answer may.
        sleep(SECOND / 5).await;
        slow.send(&byte.to_string()).await;
    }
    assert_eq!(slow.answer().await.status(), 201);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_too_slowly_is_answered_408_however_regularly_it_comes() {
    let served = Served::with(ServerOptions::default().read_timeout(SECOND));
    let (_running, at) = run(served.server()).await;
    let mut slow = Client::to(at).await;
    slow.send(&start(1000)).await;
    let mut came = None;
    for _ in 0..60 {
        slow.send(" ").await;
        let mut byte = [0];
        if timeout(SECOND / 5, slow.0.peek(&mut byte)).await.is_ok() {
            came = Some(slow.answer().await);
            break;
        }
    }
    assert_eq!(came.expect("an end").status(), 408);
    assert!(slow.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn bodies_that_hold_all_bytes_have_others_wait_and_then_answered_503() {
    let options = ServerOptions::default().memory(2 << 20);
    let served = Served::with(options.request_timeout(SECOND));
    let (_running, at) = run(served.server()).await;
    let mut first = Client::to(at).await;
    first.send(&start(300_000)).await;
    settle().await;
    let spaces = " ".repeat(100_000);
    let body = |id: &str| format!("{spaces}{{\"id\": \"{id}\"}}");
    let mut second = Client::to(at).await;
    let late = body("late");
    second.send(&(start(late.len()) + &late)).await;
    let came = second.answer().await;
    assert_eq!(came.status(), 503, "{came:?}");
    assert!(came.head.contains("retry-after: 1"), "{came:?}");
    assert!(came.body.contains("bodies of requests"), "{came:?}");
    drop(first);
    settle().await;
    let mut third = Client::to(at).await;
    let body = body("third");
    third.send(&(start(body.len()) + &body)).await;
    let came = third.answer().await;
    assert_eq!(came.status(), 201, "{came:?}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_on_which_nothing_is_asked_is_closed() {
    let served = Served::with(ServerOptions::default().read_timeout(SECOND));
    let (_running, at) = run(served.server()).await;
    let mut idle = Client::to(at).await;
    assert_eq!(idle.get("/healthz").await.status(), 200);
    assert!(idle.is_closed().await);
    assert!(Client::to(at).await.is_closed().await, "nothing was ever sent");
}

#[tokio::test(start_paused = true)]
async fn connections_beyond_the_limit_are_answered_when_one_ends() {
    let served = Served::with(ServerOptions::default().connections(2));
    let (_running, at) = run(served.server()).await;
    let (mut one, mut two) = (Client::to(at).await, Client::to(at).await);
    assert_eq!(one.get("/healthz").await.status(), 200);
    assert_eq!(two.get("/healthz").await.status(), 200);
    let mut third = Client::to(at).await;
    third.send(&get("/healthz")).await;
    let mut byte = [0];
    let none = timeout(SECOND, third.0.read(&mut byte)).await;
    assert!(none.is_err(), "it waits");
    assert_eq!(two.get("/healthz").await.status(), 200);
    drop(one);
    assert_eq!(third.answer().await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_head_has_a_limit() {
    let served = Served::with(ServerOptions::default().header(8 << 10));
    let (_running, at) = run(served.server()).await;
    let head = |len: usize| {
        let long = "x".repeat(len);
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: {long}\r\n\r\n")
    };
    let mut client = Client::to(at).await;
    client.send(&head(7 << 10)).await;
    assert_eq!(client.answer().await.status(), 200);
    client.send(&head(16 << 10)).await;
    assert_eq!(client.answer().await.status(), 431);
    // No other option lets it have less than there has to be.
    let _ = Served::with(ServerOptions::default().header(0));
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_heads_that_are_half_sent() {
    let served = Served::with(ServerOptions::default().drain(LONG * 100));
    let (mut running, at) = run(served.server()).await;
    let mut idle = Client::to(at).await;
    assert_eq!(idle.get("/healthz").await.status(), 200);
    let mut second = Client::to(at).await;
    assert_eq!(second.get("/healthz").await.status(), 200);
    second.send("GET /hea").await;
    let mut first = Client::to(at).await;
    first.send("GET /hea").await;
    let mut silent = Client::to(at).await;
    settle().await;
    running.stop();
    running.ended().await;
    for client in [&mut idle, &mut second, &mut first, &mut silent] {
        assert!(client.is_closed().await);
    }
    assert!(tokio::net::TcpStream::connect(at).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_stop_answers_what_was_accepted() {
    let served = Served::with(ServerOptions::default().drain(LONG * 100));
    let (mut running, at) = run(served.server()).await;
    let mut client = Client::to(at).await;
    let body = r#"{"id": "late"}"#;
    client.send(&start(body.len())).await;
    settle().await;
    running.stop();
    settle().await;
    assert!(!running.is_done());
    client.send(body).await;
    let came = client.answer().await;
    assert_eq!(came.status(), 201, "{came:?}");
    assert!(client.is_closed().await);
    running.ended().await;
    assert!(served.engine.task("late").is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_no_longer_than_it_may() {
    let served = Served::with(ServerOptions::default().drain(SECOND));
    let (mut running, at) = run(served.server()).await;
    let mut client = Client::to(at).await;
    client.send(&start(100)).await;
    settle().await;
    running.stop();
    running.ended().await;
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_stop_ends_event_streams_between_two_events() {
    let served = Served::new();
    served.task("essay", "ana", 2);
    let (mut running, at) = run(served.server()).await;
    let mut client = Client::to(at).await;
    let path = "/v1/tasks/essay/events";
    let accept = "Accept: text/event-stream";
    client.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{accept}\r\n\r\n")).await;
    let head = client.answer().await;
    assert_eq!(head.status(), 200);
    let mut came = String::new();
    while !came.contains("id: 0:3\n") {
        let mut piece = [0; 4096];
        let read = timeout(LONG, client.0.read(&mut piece)).await;
        let read = read.expect("events come").unwrap();
        came.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    running.stop();
    let rest = timeout(LONG, client.0.read_to_string(&mut came)).await;
    rest.expect("it ends").unwrap();
    assert!(came.ends_with("\n\n\r\n0\r\n\r\n"), "{came}");
    running.ended().await;
}

#[tokio::test]
async fn a_request_without_a_host_or_with_two_is_refused() {
    let served = Served::new();
    let (_running, at) = run(served.server()).await;
    for (version, hosts, status) in [
        ("1.1", "", 400),
        ("1.1", "Host: localhost\r\nHost: localhost\r\n", 400),
        ("1.1", "Host: localhost\r\nHost: other\r\n", 400),
        ("1.0", "Host: localhost\r\nHost: other\r\n", 400),
        ("1.0", "", 200),
        ("1.1", "Host: localhost\r\n", 200),
    ] {
        let mut client = Client::to(at).await;
        client.send(&format!("GET /healthz HTTP/{version}\r\n{hosts}\r\n")).await;
        assert_eq!(client.answer().await.status(), status, "{version} {hosts:?}");
    }
}
