//! Pages of other origins.

use axum::body::Body;
use axum::http::Request;
use milepost_server::ServerOptions;

use crate::served::{Came, Served};

const PAGE: &str = "https://dash.example";

fn served(origins: &[&str]) -> Served {
    let origins = origins.iter().map(|origin| origin.parse().unwrap());
    Served::with(ServerOptions::default().origins(origins))
}

async fn ask(served: &Served, method: &str, path: &str, headers: &[(&str, &str)]) -> Came {
    let mut asked = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        asked = asked.header(*name, *value);
    }
    served.ask(asked.body(Body::empty()).unwrap()).await
}

const FIRST: [(&str, &str); 3] = [
    ("origin", PAGE),
    ("access-control-request-method", "POST"),
    ("access-control-request-headers", "authorization,idempotency-key"),
];

#[tokio::test]
async fn a_page_of_a_known_origin_asks_first_without_a_token_and_then_with_one() {
    let served = served(&["http://localhost:3000", PAGE]);
    let token = served.token("ana", false);
    let came = ask(&served, "OPTIONS", "/v1/tasks", &FIRST).await;
    assert_eq!((came.status.as_u16(), came.bytes.len()), (204, 0));
    assert_eq!(came.header("access-control-allow-origin"), PAGE);
    assert!(came.header("access-control-allow-methods").contains("PATCH"));
    let sent = came.header("access-control-allow-headers").to_lowercase();
    for name in [
        "authorization",
        "content-type",
        "if-match",
        "if-none-match",
        "idempotency-key",
        "last-event-id",
        "x-request-id",
    ] {
        assert!(sent.split(", ").any(|sent| sent == name), "{name}");
    }
    assert_eq!(came.header("access-control-allow-credentials"), "");
    let bearer = format!("Bearer {token}");
    let headers = [("origin", PAGE), ("sec-fetch-site", "cross-site")];
    let with = [headers[0], headers[1], ("authorization", &bearer)];
    let came = ask(&served, "GET", "/v1/tasks", &with).await;
    assert_eq!(came.status, 200, "{came:?}");
    assert_eq!(came.header("access-control-allow-origin"), PAGE);
    let seen = came.header("access-control-expose-headers").to_lowercase();
    assert_eq!(seen, "etag, location, x-request-id, retry-after");
    assert!(came.header("vary").contains("origin"), "{came:?}");
    // A page sees what went wrong, too.
    let came = ask(&served, "GET", "/v1/tasks", &headers).await;
    assert_eq!(came.status, 401);
    assert_eq!(came.header("access-control-allow-origin"), PAGE);
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused() {
    for served in [served(&[PAGE]), Served::new()] {
        for origin in [
            "https://evil.example",
            "https://dash.example.evil.example",
            "https://dash.example:8443",
            "http://dash.example",
            "null",
            "",
        ] {
            let headers = [("origin", origin)];
            let came = ask(&served, "GET", "/v1/tasks", &headers).await;
            assert_eq!(came.status, 403, "{origin}");
            assert_eq!(came.header("access-control-allow-origin"), "");
            let mut first = FIRST;
            first[0] = headers[0];
            let came = ask(&served, "OPTIONS", "/v1/tasks", &first).await;
            assert_eq!(came.status, 403, "{origin}");
            assert_eq!(came.header("access-control-allow-origin"), "");
        }
        let twice = [("origin", PAGE), ("origin", "https://evil.example")];
        assert_eq!(ask(&served, "GET", "/v1/tasks", &twice).await.status, 403);
        let alone = [("sec-fetch-site", "cross-site")];
        assert_eq!(ask(&served, "GET", "/v1/tasks", &alone).await.status, 403);
    }
}

#[tokio::test]
async fn where_no_origin_is_known_nothing_is_said_of_them() {
    let served = Served::new();
    let came = ask(&served, "OPTIONS", "/v1/tasks", &FIRST).await;
    assert_eq!(came.status, 403);
    let came = served.get("/v1/tasks").await;
    assert!(!came.header("vary").contains("origin"));
    // A request that is no preflight of a browser gets the usual answer.
    let came = ask(&served, "OPTIONS", "/v1/tasks", &[]).await;
    assert_eq!(came.status, 405);
    assert!(came.header("allow").contains("GET"));
}

#[tokio::test]
async fn the_services_own_page_asks_with_an_origin_and_is_answered() {
    let served = served(&[]);
    let own = ("origin", "http://localhost:7733");
    let body = Body::from(r#"{"id": "essay"}"#);
    let asked = Request::post("/v1/tasks").header(own.0, own.1);
    let asked = asked.header("sec-fetch-site", "same-origin");
    let asked = asked.header("content-type", "application/json");
    assert_eq!(served.ask(asked.body(body).unwrap()).await.status, 201);
    for site in ["same-site", "cross-site", "x"] {
        let headers = [own, ("sec-fetch-site", site)];
        assert_eq!(ask(&served, "GET", "/v1/tasks", &headers).await.status, 403, "{site}");
    }
    assert_eq!(ask(&served, "GET", "/v1/tasks", &[own]).await.status, 403);
}
