//! `/v1`: resources of other users do not exist for a caller.
use axum::http::StatusCode;
use milepost::Mark;
use milepost::events::Message;
use milepost_workspace::{Workspace, WorkspaceOptions};

use crate::served::{Came, Served, request};

/// A task of Ana's with everything that can be asked for, and its checkpoint's id.
fn hers(served: &Served) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("draft.md"), "# One\n").unwrap();
    let task = served.task("hers", "ana", 0);
    task.append(Message::text("user", "hello")).unwrap();
    let workspace = Workspace::open(folder.path(), WorkspaceOptions::default()).unwrap();
    let first = Some(Mark::new().label("first"));
    workspace.capture(&served.engine, &task, first).unwrap();
    task.last_successful().unwrap().unwrap().id.to_string()
}

async fn ask(served: &Served, token: &str, path: &str, accept: &str) -> Came {
    let mut asked = request("GET", path, Some(token), "");
    let headers = asked.headers_mut();
    headers.insert("x-request-id", "same".parse().unwrap());
    headers.insert("accept", accept.parse().unwrap());
    headers.insert("if-none-match", "\"x\"".parse().unwrap());
    served.ask(asked).await
}

#[tokio::test]
async fn every_route_answers_another_user_as_if_nothing_were_there() {
    let served = Served::new();
    let id = hers(&served);
    served.task("his", "bob", 1);
    let (ana, bob, admin) =
        (served.token("ana", false), served.token("bob", false), served.token("root", true));
    let none = "0".repeat(64);
    let json = "application/json";
    let routes = [
        ("/v1/tasks/TASK", json),
        ("/v1/tasks/TASK/lineages", json),
        ("/v1/tasks/TASK/events", json),
        ("/v1/tasks/TASK/events", "application/x-ndjson"),
        ("/v1/tasks/TASK/events?lineage=0&from=1", json),
        ("/v1/tasks/TASK/checkpoints", json),
        ("/v1/checkpoints/ID", json),
        ("/v1/points/TASK", json),
        ("/v1/points/TASK@1", json),
        ("/v1/points/TASK@first", json),
        ("/v1/points/TASK%2F0@1", json),
        ("/v1/points/TASK~1", json),
        ("/v1/points/@ID", json),
        ("/v1/points/ID", json),
        ("/v1/points/TASK@1/event", json),
        ("/v1/points/@ID/event", json),
        ("/v1/points/TASK/state", json),
        ("/v1/points/@ID/state?pointer=/messages", json),
        ("/v1/points/TASK/diff/TASK@1", json),
        ("/v1/points/TASK/diff/TASK@1", "application/json-patch+json"),
        ("/v1/points/TASK/files", json),
        ("/v1/points/TASK/files/draft.md", "*/*"),
    ];
    for (route, accept) in routes {
        let path = route.replace("TASK", "hers").replace("ID", &id);
        let nothing = route.replace("TASK", "none").replace("ID", &none);
        for token in [&ana, &admin] {
            let came = ask(&served, token, &path, accept).await;
            assert_eq!(came.status, StatusCode::OK, "{path}: {came:?}");
        }
        let theirs = ask(&served, &bob, &path, accept).await;
        let nobodys = ask(&served, &bob, &nothing, accept).await;
        assert_eq!(theirs.status, StatusCode::NOT_FOUND, "{path}: {theirs:?}");
        assert_eq!((theirs.status, &theirs.headers), (nobodys.status, &nobodys.headers));
        let plain = |came: &Came| {
            let text = String::from_utf8(came.bytes.clone()).unwrap();
            text.replace("hers", "NAME")
                .replace("none", "NAME")
                .replace(&id, "ID")
                .replace(&none, "ID")
        };
        assert_eq!(plain(&theirs), plain(&nobodys), "{path}");
        let nobody = served.get(&path).await;
        assert_eq!(nobody.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    // Only one of two points is one's own.
    for path in ["/v1/points/his/diff/hers", "/v1/points/hers/diff/his"] {
        let came = ask(&served, &bob, path, json).await;
        assert_eq!(came.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(ask(&served, &admin, path, json).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said_the_same_of_what_is_somebody_elses() {
    let served = Served::new();
    hers(&served);
    let bob = served.token("bob", false);
    for route in [
        "/v1/tasks/TASK/events?from=99999",
        "/v1/tasks/TASK/events?from=2&to=1",
        "/v1/tasks/TASK/events?lineage=9",
        "/v1/tasks/TASK/checkpoints?cursor=zz",
        "/v1/points/TASK@99999",
        "/v1/points/TASK@1/state?pointer=x",
        "/v1/points/TASK/files/../x",
        "/v1/points/TASK@nolabel",
    ] {
        let theirs = ask(&served, &bob, &route.replace("TASK", "hers"), "*/*").await;
        let nobodys = ask(&served, &bob, &route.replace("TASK", "none"), "*/*").await;
        let plain = |came: &Came, name: &str| {
            let text = String::from_utf8(came.bytes.clone()).unwrap();
            (came.status, text.replace(name, "NAME"))
        };
        assert_eq!(plain(&theirs, "hers"), plain(&nobodys, "none"), "{route}");
    }
}
