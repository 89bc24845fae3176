//! Who may do what: every route, by everybody.
use crate::served::{NOW_US, Served, request};
use milepost_server::{NewToken, ServerOptions};

const CLEANUP: &str = "/api/v0/checkpoint/direct/cleanup";
const STATS: &str = "/api/v0/checkpoint/direct/stats";

#[tokio::test]
async fn each_route_answers_each_caller_as_the_table_says() {
    let served = Served::new();
    let task = served.task("hers", "ana", 3);
    served.task("his", "bob", 3);
    let id = task.last_successful().unwrap().unwrap().id;
    let (ana, bob, admin) = (
        served.token("ana", false),
        served.token("bob", false),
        served.token("root", true),
    );
    let expired = NewToken {
        user: "ana".into(),
        expires_us: Some(NOW_US),
        ..NewToken::default()
    };
    let expired = served.tokens.create(&expired, 0).unwrap().1;
    let new = NewToken {
        user: "ana".into(),
        admin: true,
        ..NewToken::default()
    };
    let (info, revoked) = served.tokens.create(&new, 0).unwrap();
    served.tokens.revoke(&info.id, 1).unwrap();
    let one = format!("/api/v1/checkpoints/{id}");
    let of_ana = format!("{STATS}?user_id=ana");
    let (thread, user) = (r#"{"thread_id": "hers"}"#, r#"{"user_id": "ana"}"#);
    // What the owner, somebody else and an admin get.
    let routes = [
        ("GET", "/healthz", "", [200, 200, 200]),
        ("GET", "/readyz", "", [200, 200, 200]),
        ("GET", "/metrics", "", [403, 403, 200]),
        ("GET", "/api/v1/tasks/hers/checkpoints", "", [200, 404, 200]),
        ("GET", &one, "", [200, 404, 200]),
        (
            "GET",
            "/api/v1/meta/checkpoint-metrics",
            "",
            [403, 403, 200],
        ),
        ("POST", CLEANUP, thread, [200, 404, 200]),
        ("POST", CLEANUP, user, [200, 404, 200]),
        ("POST", CLEANUP, "", [403, 403, 200]),
        ("GET", &of_ana, "", [200, 404, 200]),
        ("GET", STATS, "", [403, 403, 200]),
    ];
    for (method, path, body, statuses) in routes {
        for (token, status) in [&ana, &bob, &admin].into_iter().zip(statuses) {
            let came = served.ask(request(method, path, Some(token), body)).await;
            assert_eq!(came.status, status, "{method} {path} {body} {came:?}");
        }
        let open = path.ends_with('z');
        for token in [None, Some(""), Some("x"), Some(&*expired), Some(&*revoked)] {
            let came = served.ask(request(method, path, token, body)).await;
            assert_eq!(
                came.status,
                if open { 200 } else { 401 },
                "{path} {token:?}"
            );
            assert_eq!(
                came.header("www-authenticate"),
                if open { "" } else { "Bearer" }
            );
        }
    }
}

#[tokio::test]
async fn what_is_somebody_elses_answers_like_what_is_not_there() {
    let served = Served::new();
    let id = served
        .task("hers", "ana", 1)
        .last_successful()
        .unwrap()
        .unwrap()
        .id
        .to_string();
    let bob = served.token("bob", false);
    let none = "0".repeat(64);
    let pairs = [
        (
            "GET",
            format!("/api/v1/tasks/{}/checkpoints", "hers"),
            format!("/api/v1/tasks/{}/checkpoints", "none"),
            "",
            "",
        ),
        (
            "GET",
            format!("/api/v1/checkpoints/{id}"),
            format!("/api/v1/checkpoints/{none}"),
            "",
            "",
        ),
        (
            "GET",
            format!("{STATS}?user_id=ana"),
            format!("{STATS}?user_id=eve"),
            "",
            "",
        ),
        (
            "POST",
            CLEANUP.into(),
            CLEANUP.into(),
            r#"{"thread_id": "hers"}"#,
            r#"{"thread_id": "none"}"#,
        ),
        (
            "POST",
            CLEANUP.into(),
            CLEANUP.into(),
            r#"{"user_id": "ana"}"#,
            r#"{"user_id": "eve"}"#,
        ),
    ];
    for (method, hers, nobodys, to_hers, to_nobodys) in pairs {
        let same_id = |mut request: axum::http::Request<axum::body::Body>| {
            request
                .headers_mut()
                .insert("x-request-id", "same".parse().unwrap());
            request
        };
        let hers = served
            .ask(same_id(request(method, &hers, Some(&bob), to_hers)))
            .await;
        let nobodys = served
            .ask(same_id(request(method, &nobodys, Some(&bob), to_nobodys)))
            .await;
        assert_eq!(
            (hers.status, &hers.headers),
            (nobodys.status, &nobodys.headers)
        );
        assert_eq!(hers.status, 404);
        // All but the name that was asked for.
        let plain = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            ["hers", "none", "ana", "eve", &id, &none]
                .iter()
                .fold(text, |text, name| text.replace(name, "NAME"))
        };
        assert_eq!(plain(&hers.bytes), plain(&nobodys.bytes));
    }
}

#[tokio::test]
async fn one_text_is_for_all_tokens_that_are_not_taken_and_two_headers_are_none() {
    let served = Served::new();
    let token = served.token("ana", false);
    let mut texts = Vec::new();
    for header in [
        "",
        "Bearer",
        "Bearer x",
        &format!("Basic {token}"),
        &token,
        &format!("Bearer {token}x"),
    ] {
        let mut asked = request("GET", "/api/v1/tasks/t/checkpoints", None, "");
        asked
            .headers_mut()
            .insert("authorization", header.parse().unwrap());
        asked
            .headers_mut()
            .insert("x-request-id", "same".parse().unwrap());
        let came = served.ask(asked).await;
        assert_eq!(came.status, 401, "{header}");
        texts.push(came.bytes);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
    let mut twice = request("GET", "/api/v1/tasks/t/checkpoints", Some(&token), "");
    twice
        .headers_mut()
        .append("authorization", "Bearer x".parse().unwrap());
    assert_eq!(served.ask(twice).await.status, 401);
    let lower = format!("bearer {token}");
    let mut asked = request("GET", "/api/v1/tasks/t/checkpoints", None, "");
    asked
        .headers_mut()
        .insert("authorization", lower.parse().unwrap());
    assert_eq!(served.ask(asked).await.status, 404);
}

#[tokio::test]
async fn a_token_that_is_revoked_ends_with_the_next_request_and_a_damaged_list_lets_nobody_in() {
    let served = Served::new();
    assert_eq!(served.get(STATS).await.status, 200, "no token was made yet");
    let token = served.token("root", true);
    assert_eq!(served.get(STATS).await.status, 401);
    assert_eq!(served.get_as(&token, STATS).await.status, 200);
    let id = served.tokens.list().unwrap()[0].id.clone();
    served.tokens.revoke(&id, NOW_US).unwrap();
    assert_eq!(served.get_as(&token, STATS).await.status, 401);
    let path = served.dir.path().join("server/tokens.json");
    std::fs::write(path, "damaged").unwrap();
    assert_eq!(served.get_as(&token, STATS).await.status, 500);
    assert_eq!(served.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn a_request_keeps_its_id_where_that_is_one_and_gets_one_else() {
    let served = Served::new();
    let long = "x".repeat(129);
    for (given, kept) in [
        ("abc.DEF_1-2", true),
        ("", false),
        ("a b", false),
        ("a/b", false),
        (&long, false),
    ] {
        let mut asked = request("GET", "/api/v1/nothing", None, "");
        asked
            .headers_mut()
            .insert("x-request-id", given.parse().unwrap());
        let came = served.ask(asked).await;
        let id = came.header("x-request-id").to_owned();
        assert_eq!(id == given, kept, "{given}: {id}");
        assert_eq!(came.json()["error"]["details"]["requestId"], id);
        assert!(!id.is_empty());
    }
    let (one, two) = (served.get("/healthz").await, served.get("/healthz").await);
    assert_ne!(one.header("x-request-id"), two.header("x-request-id"));
}

#[tokio::test]
async fn bodies_are_taken_up_to_the_limit_and_only_as_json() {
    let served = Served::with(ServerOptions::default().body(100));
    let padded = |len: usize| format!("{{}}{}", " ".repeat(len - 2));
    assert_eq!(served.post(CLEANUP, &padded(100)).await.status, 200);
    assert_eq!(served.post(CLEANUP, &padded(101)).await.status, 413);
    // Without a length said before.
    let long = (0..30).map(|_| Ok(" ".repeat(5))).collect();
    let body = axum::body::Body::from_stream(futures_stream(long));
    let asked = axum::http::Request::post(CLEANUP).body(body).unwrap();
    assert_eq!(served.ask(asked).await.status, 413);
    let mut asked = request("POST", CLEANUP, None, "{}");
    asked
        .headers_mut()
        .insert("content-type", "text/plain".parse().unwrap());
    assert_eq!(served.ask(asked).await.status, 415);
    let mut asked = request("POST", CLEANUP, None, "{}");
    asked.headers_mut().insert(
        "content-type",
        "application/json; charset=utf-8".parse().unwrap(),
    );
    assert_eq!(served.ask(asked).await.status, 200);
}

fn futures_stream(
    pieces: Vec<Result<String, std::io::Error>>,
) -> impl futures_core::Stream<Item = Result<String, std::io::Error>> + Send + 'static {
    struct Pieces(std::vec::IntoIter<Result<String, std::io::Error>>);
    impl futures_core::Stream for Pieces {
        type Item = Result<String, std::io::Error>;

        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            std::task::Poll::Ready(self.0.next())
        }
    }
    Pieces(pieces.into_iter())
}
