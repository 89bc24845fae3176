//! Shared code of the tests of routes that change something.

use axum::body::Body;
use axum::http::Request;
use serde_json::Value;

use crate::served::{Came, Served, request};

/// A store with a task of ana's, a task of bob's, and tokens: ana, bob, an admin.
pub struct Three {
    pub served: Served,
    pub ana: String,
    pub bob: String,
    pub root: String,
}

impl Three {
    pub fn new() -> Self {
        Self::on(Served::new())
    }

    pub fn on(served: Served) -> Self {
        served.task("hers", "ana", 0);
        served.task("his", "bob", 0);
        Self {
            ana: served.token("ana", false),
            bob: served.token("bob", false),
            root: served.token("root", true),
            served,
        }
    }

    pub async fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> Came {
        let asked = request(method, path, Some(token), body);
        self.served.ask(asked).await
    }

    /// As ana.
    pub async fn post(&self, path: &str, body: &str) -> Came {
        self.ask("POST", path, &self.ana, body).await
    }

    /// As ana, with headers.
    pub async fn with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&'static str, &str)],
        body: &str,
    ) -> Came {
        let asked = request(method, path, Some(&self.ana), body);
        self.served.ask(dressed(asked, headers)).await
    }

    /// Asserts that bob gets the same answer for ana's resource as for a missing one, and an admin
    /// another one.
    pub async fn hides(&self, method: &str, hers: &str, none: &str, body: &str) {
        self.hides_in(method, (hers, body), (none, body)).await;
    }

    /// The same where the name is in the body.
    pub async fn hides_in(&self, method: &str, hers: (&str, &str), none: (&str, &str)) {
        let others = self.ask(method, hers.0, &self.bob, hers.1).await;
        let nobodys = self.ask(method, none.0, &self.bob, none.1).await;
        assert_eq!(others.status, 404, "{others:?}");
        assert_eq!(others.status, nobodys.status);
        let names = |came: &Came| {
            let names = came.headers.keys().map(|it| it.as_str().to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&others), names(&nobodys));
        assert_eq!(plain(&others), plain(&nobodys));
        let owned = self.ask(method, hers.0, &self.root, hers.1).await;
        assert!(owned.status.is_success(), "{owned:?}");
    }
}

/// A problem but for the request's id and the names that were asked for.
fn plain(came: &Came) -> String {
    let mut problem = came.json();
    problem.as_object_mut().unwrap().remove("instance").unwrap();
    let text = problem.to_string();
    let digits = |c: char| c.is_ascii_hexdigit();
    let text = text.replace("hers", "NAME").replace("none", "NAME");
    // Ids of checkpoints.
    let words = text.split_inclusive(|c| !digits(c));
    words.map(|word| if word.len() > 60 { "ID" } else { word }).collect()
}

pub fn dressed(mut asked: Request<Body>, headers: &[(&'static str, &str)]) -> Request<Body> {
    for (name, value) in headers {
        asked.headers_mut().insert(*name, value.parse().unwrap());
    }
    asked
}

/// The problem's name; it says its status, and which request it was.
pub fn problem(came: &Came) -> (u16, String) {
    let json: Value = came.json();
    assert_eq!(came.header("content-type"), "application/problem+json");
    assert_eq!(json["status"], came.status.as_u16());
    assert_eq!(json["instance"], came.header("x-request-id"));
    let kind = json["type"].as_str().unwrap();
    let kind = kind.strip_prefix("https://milepost.dev/problems/").unwrap();
    (came.status.as_u16(), kind.to_owned())
}
