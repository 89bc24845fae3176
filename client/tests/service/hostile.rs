//! Servers of another kind: their answers are incomprehensible, too large, or missing.

use std::future::Future;
use std::time::Duration;

use milepost_client::calls::Task;
use milepost_client::{Client, ClientBuilder, Error, ErrorKind, Start};
use tokio::time::timeout;

use crate::fake::{Fake, Says, head, says};
use crate::served::LONG;

/// Short timeout, so that a test does not wait for a silent service.
const SHORT: Duration = Duration::from_millis(50);

const STREAM: &str = "text/event-stream";

async fn ends<T>(asked: impl Future<Output = T>) -> T {
    timeout(LONG, asked).await.expect("it ends")
}

fn impatient(builder: ClientBuilder) -> Client {
    let builder = builder.timeout(SHORT).silence(SHORT).tries(2).reconnects(2);
    builder.build().unwrap()
}

async fn streamed(client: &Client) -> Error {
    let mut following = client.follow("essay", Start::Beginning);
    let next = ends(following.next()).await;
    assert!(ends(following.next()).await.is_none());
    next.unwrap().unwrap_err()
}

#[tokio::test]
async fn what_is_no_answer_of_ours_is_not_understood() {
    for body in ["", "<html>", "{}", "[1]", r#"{"id":7}"#, "\u{fffd}"] {
        let fake = Fake::new(vec![says("200 OK", "", body)]).await;
        let error = ends(fake.client().call(&Task::new("essay"))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Answer, "{body}: {error}");
        assert_eq!(fake.asked().len(), 1, "{body}");
    }
    let away = says("307 Temporary Redirect", "location: http://127.0.0.1:1/\r\n", "");
    let fake = Fake::new(vec![away]).await;
    let error = ends(fake.client().call(&Task::new("essay"))).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Answer, Some(307)));
}

#[tokio::test]
async fn what_is_no_answer_at_all_is_a_connection_that_broke() {
    let garbage = "\u{1}\u{2}\u{3} garbage\r\n\r\n".to_owned();
    for bytes in [String::new(), garbage, "HTTP/1.1 200 OK\r\ncontent-".to_owned()] {
        let fake = Fake::new(vec![Says::Bytes(bytes)]).await;
        let error = ends(fake.client().call(&Task::new("essay"))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        assert_eq!(fake.asked().len(), 4);
        assert_eq!(streamed(&impatient(fake.builder())).await.kind(), ErrorKind::Transport);
    }
}

#[tokio::test]
async fn an_answer_without_end_is_not_held() {
    let few = |fake: &Fake| fake.builder().answer_limit(100_000).build().unwrap();
    let endless = Says::Endless(head("application/json"), "[[[[[[[[[[[[[[[[[[[[[[[[");
    let fake = Fake::new(vec![endless]).await;
    let error = ends(few(&fake).call(&Task::new("essay"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Answer);
    assert!(error.detail().contains("`ClientBuilder::answer_limit`"), "{error}");
    let refusal = "HTTP/1.1 500 Internal Server Error\r\n\r\n".to_owned();
    let fake = Fake::new(vec![Says::Endless(refusal, "no no no no no no")]).await;
    let error = ends(few(&fake).call(&Task::new("essay"))).await.unwrap_err();
    assert_eq!(error.status(), Some(500));
    let fake =
        Fake::new(vec![Says::Endless("HTTP/1.1 200 OK\r\na: ".into(), "aaaaaaaaaaaa")]).await;
    let error = ends(few(&fake).call(&Task::new("essay"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
}

#[tokio::test]
async fn a_line_without_end_is_no_event() {
    for line in ["data: aaaaaaaaaaaaaaaaaaaa", ":::::::::::::::::::::::", "data: a\n"] {
        let fake = Fake::new(vec![Says::Endless(head(STREAM), line)]).await;
        let client = fake.builder().answer_limit(100_000).build().unwrap();
        let error = streamed(&client).await;
        assert_eq!(error.kind(), ErrorKind::Answer, "{line}");
        assert!(error.detail().contains("more than 100000 bytes"), "{error}");
    }
}

#[tokio::test]
async fn what_never_answers_is_given_up() {
    for says in [Says::Silent(String::new()), Says::Silent(head("application/json"))] {
        let fake = Fake::new(vec![says]).await;
        let error = ends(impatient(fake.builder()).call(&Task::new("essay"))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert!(error.detail().contains("nothing came for 0.05 s"), "{error}");
        assert_eq!(fake.asked().len(), 2);
    }
    for says in [String::new(), head(STREAM), head(STREAM) + "data: a"] {
        let fake = Fake::new(vec![Says::Silent(says)]).await;
        let error = streamed(&impatient(fake.builder())).await;
        assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        assert_eq!(fake.asked().len(), 3, "one, and two more");
    }
}

#[tokio::test]
async fn a_stream_that_says_what_no_service_says_ends() {
    let event = |id: &str, offset: u64| {
        let data = format!(
            r#"{{"offset":"{offset}","lineage":0,"kind":"note","time":"t","time_us":"1","body":null}}"#
        );
        format!("id: {id}\nevent: note\ndata: {data}\n\n")
    };
    for (text, why) in [
        ("event: problem\ndata: {}\n\n".to_owned(), "not understood"),
        ("id: 0:1\nevent: note\ndata: {}\n\n".to_owned(), "not understood"),
        ("id: zero\nevent: note\ndata: {}\n\n".to_owned(), "no place"),
        (event("0:9", 7), "does not follow"),
        ("data: \u{fffd}\nid: 0:1\n\n".to_owned(), "not understood"),
    ] {
        let fake = Fake::new(vec![Says::Bytes(head(STREAM) + &text)]).await;
        let error = streamed(&impatient(fake.builder())).await;
        assert_eq!(error.kind(), ErrorKind::Answer, "{text}");
        assert!(error.detail().contains(why), "{text}: {error}");
    }
    let skips = head(STREAM) + &event("0:8", 7) + &event("0:10", 9);
    let fake = Fake::new(vec![Says::Bytes(skips)]).await;
    let client = impatient(fake.builder());
    let mut following = client.follow("essay", Start::Beginning);
    ends(following.next()).await.unwrap().unwrap();
    let place = following.place().unwrap();
    assert_eq!(place.to_string(), "0:8");
    let error = ends(following.next()).await.unwrap().unwrap_err();
    assert!(error.detail().contains("0:10 does not follow on 0:8"), "{error}");
    let fake = Fake::new(vec![says("200 OK", "content-type: text/html\r\n", "data: a\n\n")]).await;
    let error = streamed(&fake.client()).await;
    assert!(error.detail().contains("`text/html`"), "{error}");
}
