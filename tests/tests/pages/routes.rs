//! The tables of routes in docs/HTTP.md, made from clients/openapi.json.

use std::fs;

use serde_json::Value;

/// The marks around the tables.
const BEGIN: &str = "<!-- Routes: made from clients/openapi.json by the test of the pages. -->\n";
const END: &str = "<!-- End of the routes. -->\n";

/// Tags of operations in the order of the tables, with their titles.
const GROUPS: [(&str, &str); 13] = [
    ("tasks", "Tasks"),
    ("events", "Events"),
    ("points", "Points"),
    ("readings", "Readings"),
    ("files", "Files"),
    ("checkpoints", "Checkpoints"),
    ("runs", "Runs"),
    ("restores", "Restores"),
    ("maintenance", "Maintenance"),
    ("jobs", "Jobs"),
    ("agents", "Agents"),
    ("store", "Store and callers"),
    ("service", "Service"),
];

/// Tag of the routes that the page describes one by one.
const COMPATIBILITY: &str = "compat";

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn array<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// Formats names, required ones first, and the others with a question mark.
fn names(mut all: Vec<(String, bool)>) -> String {
    all.sort_by_key(|(_, is_required)| !is_required);
    let one = |(name, is_required)| format!("`{name}`{}", if is_required { "" } else { "?" });
    all.into_iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Returns the schema that a reference leads to, or the schema itself.
fn resolved<'a>(api: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(path) => api.pointer(path.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// Formats the fields of a body. A body with one of several forms has a field for each.
fn fields(api: &Value, schema: &Value) -> String {
    let schema = resolved(api, schema);
    let forms = array(schema, "oneOf");
    let forms: Vec<_> = forms.iter().filter(|form| text(form, "type") != "null").collect();
    match forms[..] {
        [] => {}
        [form] => return fields(api, form),
        _ => {
            let forms: Vec<_> = forms.into_iter().map(|form| fields(api, form)).collect();
            return format!("one of {}", forms.join(", "));
        }
    }
    let required = array(schema, "required");
    let all = schema["properties"].as_object().into_iter().flatten();
    names(all.map(|(name, _)| (name.clone(), required.iter().any(|it| it == name))).collect())
}

/// Formats the query and the body that an operation takes.
fn takes(api: &Value, operation: &Value) -> String {
    let query = array(operation, "parameters").iter().filter(|it| text(it, "in") == "query");
    let query =
        query.map(|it| (text(it, "name").to_owned(), it["required"].as_bool() == Some(true)));
    let query = names(query.collect());
    let body = fields(api, &operation["requestBody"]["content"]["application/json"]["schema"]);
    let parts = [("query", query), ("body", body)].into_iter();
    let parts = parts.filter(|(_, names)| !names.is_empty());
    parts.map(|(kind, names)| format!("{kind} {names}")).collect::<Vec<_>>().join("; ")
}

/// Formats the successful statuses, unless the only one is 200.
fn statuses(operation: &Value) -> String {
    let all = operation["responses"].as_object().unwrap().keys();
    let good: Vec<_> = all.filter(|status| status.starts_with('2')).map(String::as_str).collect();
    if good == ["200"] { String::new() } else { format!(" → {}", good.join(", ")) }
}

/// Returns the tables: one for each tag, in the order of paths.
fn tables(api: &Value) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    for (path, operations) in api["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let [tag] = array(operation, "tags") else { panic!("{method} {path}: one tag") };
            let tag = tag.as_str().unwrap();
            let is_listed = tag == COMPATIBILITY || GROUPS.iter().any(|(known, _)| *known == tag);
            assert!(is_listed, "no table for the tag `{tag}` of {method} {path}");
            let words = text(operation, "summary").split_whitespace().collect::<Vec<_>>();
            let row = format!(
                "| `{} {path}` | {} | {}{} |\n",
                method.to_uppercase(),
                takes(api, operation),
                words.join(" ").replace('|', "\\|"),
                statuses(operation),
            );
            rows.push((tag, row));
        }
    }
    let mut tables = String::new();
    for (tag, title) in GROUPS {
        let rows = rows.iter().filter(|(of, _)| *of == tag).map(|(_, row)| row.as_str());
        let rows: String = rows.collect();
        tables +=
            &format!("\n**{title}**\n\n| route | takes | what it does |\n|---|---|---|\n{rows}");
    }
    tables
}

#[test]
fn the_tables_of_routes_are_those_of_the_description() {
    let root = crate::pages::root();
    let api = fs::read_to_string(root.join("clients/openapi.json")).unwrap();
    let api: Value = serde_json::from_str(&api).unwrap();
    let path = root.join("docs/HTTP.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let now = format!("{before}{BEGIN}{}\n{END}{after}", tables(&api));
    if std::env::var("MILEPOST_ROUTES").as_deref() == Ok("write") {
        fs::write(&path, &now).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap();
    assert!(page == now, "docs/HTTP.md is stale: run this test with MILEPOST_ROUTES=write");
}

#[test]
fn a_row_has_the_query_the_fields_and_the_statuses() {
    let api = serde_json::json!({
        "paths": {"/v1/a": {"post": {
            "tags": ["tasks"], "summary": "Makes\nit | a.",
            "parameters": [
                {"name": "q", "in": "query"},
                {"name": "at", "in": "query", "required": true},
                {"name": "If-Match", "in": "header"}],
            "requestBody": {"content": {"application/json": {"schema":
                {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/A"}]}}}},
            "responses": {"200": {}, "201": {}, "400": {}}}}},
        "components": {"schemas": {"A": {"required": ["z"], "properties": {"b": {}, "z": {}}}}},
    });
    let row = "| `POST /v1/a` | query `at`, `q`?; body `z`, `b`? | Makes it \\| a. → 200, 201 |\n";
    assert!(tables(&api).contains(row), "{}", tables(&api));
}
