//! Limits of concurrent requests for each token, and the connections that they close.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::{Request, Response};
use milepost::events::Message;
use milepost_server::ServerOptions;
use tokio::net::{TcpSocket, TcpStream};
use tower::ServiceExt as _;

use crate::listening::{Client, run, settle};
use crate::served::{Served, request};

const PATH: &str = "/v1/tasks/essay/events";

/// A store with more in it than the kernel takes for a reader that reads nothing.
fn long(options: ServerOptions) -> Served {
    let served = Served::with(options);
    let task = served.task("essay", "ana", 0);
    for _ in 0..16 {
        let text = "x".repeat(1 << 20);
        task.append(Message::text("user", &text)).unwrap();
    }
    served
}

fn wants(token: &str, accept: &str) -> Request<Body> {
    let mut asked = request("GET", PATH, Some(token), "");
    let accept = accept.parse().unwrap();
    asked.headers_mut().insert("accept", accept);
    asked
}

async fn open(served: &Served, token: &str, accept: &str) -> Response<Body> {
    let asked = wants(token, accept);
    served.router().oneshot(asked).await.unwrap()
}

fn lines(token: &str) -> String {
    format!(
        "GET {PATH} HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
}

/// A connection for which the kernel keeps little.
async fn small(at: SocketAddr) -> Client<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    Client(socket.connect(at).await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_is_cut_off_and_holds_nothing_any_more() {
    let limits = ServerOptions::default().per_token(1);
    let served = long(limits.read_timeout(Duration::from_secs(5)));
    let token = served.token("ana", false);
    let (_running, at) = run(served.server()).await;
    let mut stuck = small(at).await;
    stuck.send(&lines(&token)).await;
    assert_eq!(stuck.answer().await.status(), 200);
    settle().await;
    assert_eq!(served.get_as(&token, "/v1/tasks").await.status, 429);
    // Twice as long as a head may take.
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert_eq!(served.get_as(&token, "/v1/tasks").await.status, 429);
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert_eq!(served.get_as(&token, "/v1/tasks").await.status, 200);
}

#[tokio::test]
async fn a_request_is_under_way_until_its_answer_is_at_its_end() {
    let served = long(ServerOptions::default().per_token(1));
    let token = served.token("ana", false);
    let response = open(&served, &token, "application/x-ndjson").await;
    assert_eq!(response.status(), 200);
    assert_eq!(served.get_as(&token, "/v1/tasks").await.status, 429);
    let mut body = response.into_body();
    while let Some(piece) =
        std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await
    {
        assert!(!piece.unwrap().into_data().unwrap().is_empty());
    }
    drop(body);
    assert_eq!(served.get_as(&token, "/v1/tasks").await.status, 200);
}

#[tokio::test]
async fn event_streams_are_no_requests_under_way_and_each_token_has_a_part_of_them() {
    let served = Served::with(ServerOptions::default().per_token(1).streams(8));
    served.task("essay", "ana", 1);
    served.task("draft", "bob", 1);
    let (ana, root) = (served.token("ana", false), served.token("root", true));
    let mut open_ones = Vec::new();
    for _ in 0..2 {
        let response = open(&served, &ana, "text/event-stream").await;
        assert_eq!(response.status(), 200);
        open_ones.push(response);
    }
    let refused = open(&served, &ana, "text/event-stream").await;
    assert_eq!(refused.status(), 503);
    let came = served.ask(wants(&ana, "text/event-stream")).await;
    let detail = came.json()["detail"].to_string();
    assert!(detail.contains("the token has 2 event streams"), "{detail}");
    // The others have theirs.
    assert_eq!(open(&served, &root, "text/event-stream").await.status(), 200);
    open_ones.pop();
    // The end of a stream is seen by the one who sends.
    let again = async {
        while open(&served, &ana, "text/event-stream").await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::listening::LONG, again).await.unwrap();
}

#[tokio::test]
async fn without_tokens_there_is_no_part() {
    let served = Served::with(ServerOptions::default().streams(4));
    served.task("essay", "ana", 1);
    let mut all = Vec::new();
    for n in 0..5 {
        let mut asked = request("GET", PATH, None, "");
        let accept = "text/event-stream".parse().unwrap();
        asked.headers_mut().insert("accept", accept);
        let response = served.router().oneshot(asked).await.unwrap();
        assert_eq!(response.status() == 200, n < 4);
        all.push(response);
    }
}

#[tokio::test]
async fn without_a_token_all_who_ask_share_four_times_as_much() {
    let served = long(ServerOptions::default().per_token(1));
    let lines = || {
        let mut asked = request("GET", PATH, None, "");
        let accept = "application/x-ndjson".parse().unwrap();
        asked.headers_mut().insert("accept", accept);
        served.router().oneshot(asked)
    };
    let mut held = Vec::new();
    for _ in 0..4 {
        let answer = lines().await.unwrap();
        assert_eq!(answer.status(), 200);
        held.push(answer);
    }
    assert_eq!(lines().await.unwrap().status(), 429);
    assert_eq!(served.get("/healthz").await.status, 200);
    held.pop();
    assert_eq!(lines().await.unwrap().status(), 200);
}
