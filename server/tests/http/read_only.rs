//! A service that changes nothing.

use milepost_server::ServerOptions;

use crate::served::{Served, request};

/// Routes whose method is that of a change, and that read.
const READS: [&str; 6] = [
    "/v1/restores/plan",
    "/v1/tasks/{task}/undo/plan",
    "/v1/retention/plan",
    "/v1/verify",
    "/v1/sessions",
    "/v1/sessions/current",
];

#[tokio::test]
async fn a_service_that_is_read_only_refuses_each_route_that_changes_something() {
    let served = Served::with(ServerOptions::default().read_only(true));
    served.task("x", "local", 1);
    let before = served.engine.store().metrics().commits;
    let api = served.get("/openapi.json").await.json();
    let mut refused = 0;
    for (pattern, of) in api["paths"].as_object().unwrap() {
        let parts = pattern.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        for method in of.as_object().unwrap().keys() {
            let came = served.ask(request(&method.to_uppercase(), &path, None, "{}")).await;
            let said = String::from_utf8_lossy(&came.bytes);
            let is_refused = came.status == 403 && said.contains("the service is read-only");
            let reads = method == "get" || READS.contains(&pattern.as_str());
            assert_eq!(is_refused, !reads, "{method} {pattern}: {came:?}");
            refused += usize::from(is_refused);
        }
    }
    assert!(refused > 20, "{refused}");
    assert_eq!(served.engine.store().metrics().commits, before);
    assert_eq!(served.get("/v1/tasks/x").await.status, 200);
    assert_eq!(served.get("/v1/me").await.json()["read_only"], true);
    let token = served.token("root", true);
    let change = request("DELETE", "/v1/tasks/x", Some(&token), "");
    assert_eq!(served.ask(change).await.status, 403, "an admin has no more rights");
}

#[tokio::test]
async fn a_service_that_is_read_only_is_so_at_the_socket_in_the_store() {
    let served = Served::with(ServerOptions::default().read_only(true));
    let attached = served.server().attach().unwrap();
    let asked = "POST /v1/tasks HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: 11\r\n\r\n{\"id\": \"t\"}";
    let mut stream = tokio::net::UnixStream::connect(attached.socket()).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, asked.as_bytes()).await.unwrap();
    let mut said = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
}
