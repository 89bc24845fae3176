//! `/openapi.json`: the routes of `/v1`, described.
use serde_json::Value;

use crate::served::Served;

/// The paths of reading routes.
const READ: [&str; 28] = [
    "/v1/tasks",
    "/v1/tasks/{task}",
    "/v1/tasks/{task}/lineages",
    "/v1/tasks/{task}/events",
    "/v1/tasks/{task}/checkpoints",
    "/v1/checkpoints/{id}",
    "/v1/points/{address}",
    "/v1/points/{address}/event",
    "/v1/points/{address}/state",
    "/v1/points/{address}/diff/{other}",
    "/v1/points/{address}/files",
    "/v1/points/{address}/files/{path}",
    "/v1/stats",
    "/v1/me",
    "/v1/tasks/{task}/folders",
    "/v1/tasks/{task}/rows",
    "/v1/tasks/{task}/turns",
    "/v1/tasks/{task}/overview",
    "/v1/tasks/{task}/metrics",
    "/v1/series",
    "/v1/points/{address}/file-changes/{other}",
    "/v1/search",
    "/v1/tasks/{task}/export",
    "/v1/tasks/{task}/share",
    "/v1/tasks/{task}/share/plan",
    "/v1/points/{address}/bisect",
    "/v1/points/{address}/align/{other}",
    "/v1/points/{address}/value",
];

fn refers(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("$ref", Value::String(to)) => found.push(to.clone()),
                    _ => refers(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| refers(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_route_is_described_with_what_it_answers_and_refuses() {
    let api = Served::new().get("/openapi.json").await.json();
    for path in READ {
        let get = &api["paths"][path]["get"];
        for status in ["200", "401"] {
            let content = &get["responses"][status]["content"];
            let schemas = content.as_object().unwrap_or_else(|| panic!("{path} {status}"));
            assert!(schemas.values().all(|of| of.get("schema").is_some()), "{path} {status}");
        }
        let named = path.matches('{').count();
        let params = get["parameters"].as_array().cloned().unwrap_or_default();
        let in_path = params.iter().filter(|param| param["in"] == "path");
        assert_eq!(in_path.count(), named, "{path}");
    }
    let mut found = Vec::new();
    refers(&api, &mut found);
    assert!(found.len() > 50);
    for to in found {
        let pointer = to.strip_prefix('#').unwrap();
        assert!(api.pointer(pointer).is_some(), "{to}");
    }
}
