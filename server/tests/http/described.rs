//! Every route that changes something is described, with its answers.

use std::collections::BTreeSet;

use crate::served::Served;

#[tokio::test]
async fn each_route_is_described_with_its_errors_as_problems() {
    let served = Served::new();
    let api = served.get("/openapi.json").await.json();
    for (method, path, well) in [
        ("post", "/v1/tasks", "201"),
        ("delete", "/v1/tasks/{task}", "204"),
        ("post", "/v1/tasks/{task}/events", "201"),
        ("post", "/v1/tasks/{task}/checkpoints", "201"),
        ("delete", "/v1/checkpoints/{id}", "204"),
        ("delete", "/v1/checkpoints", "200"),
        ("post", "/v1/tasks/{task}/control", "200"),
        ("post", "/v1/points/{address}/events", "201"),
        ("post", "/v1/tasks/{task}/guidance", "201"),
        ("post", "/v1/tasks/{task}/attachments", "200"),
        ("patch", "/v1/tasks/{task}/artifacts", "200"),
        ("post", "/v1/restores/plan", "200"),
        ("post", "/v1/restores", "201"),
        ("post", "/v1/tasks/{task}/undo", "200"),
        ("post", "/v1/tasks/{task}/redo", "200"),
        ("put", "/v1/tasks/{task}/active", "200"),
        ("post", "/v1/verify", "200"),
        ("post", "/v1/retention/plan", "200"),
        ("post", "/v1/retention", "200"),
        ("post", "/v1/jobs", "201"),
        ("delete", "/v1/jobs/{id}", "202"),
        ("post", "/v1/agent/hooks", "200"),
        ("post", "/v1/sessions", "201"),
        ("delete", "/v1/sessions/current", "204"),
    ] {
        let responses = &api["paths"][path][method]["responses"];
        assert!(responses[well].is_object(), "{method} {path}");
        assert!(responses["401"].is_object(), "{method} {path}");
        for (status, response) in responses.as_object().unwrap() {
            if status.as_str() >= "400" {
                let content = &response["content"]["application/problem+json"];
                let problem = &content["schema"]["$ref"];
                assert_eq!(problem, "#/components/schemas/Problem", "{path} {status}");
            }
        }
    }
    // Generators of clients name a function after each operation id.
    let paths = api["paths"].as_object().unwrap();
    let all = paths.values().flat_map(|of| of.as_object().unwrap().values());
    let names: Vec<_> = all.map(|of| of["operationId"].as_str().unwrap()).collect();
    let once: BTreeSet<_> = names.iter().collect();
    assert_eq!(names.len(), once.len(), "{names:?}");
    // Each schema that is pointed to is there.
    let text = api.to_string();
    let names = text.split("#/components/schemas/").skip(1);
    let names: BTreeSet<_> = names.map(|rest| rest.split('"').next().unwrap()).collect();
    for name in names {
        assert!(api["components"]["schemas"][name].is_object(), "{name}");
    }
}
