//! The map of the code: each file and function that it names exists, and a crate depends only on
//! those below it.

use std::path::Path;

use crate::Violation;

/// Rows of `docs/ARCHITECTURE.md` that name a file or function that is not there.
pub fn rows(text: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let mut cells = line.split('|').map(|cell| cell.trim().trim_matches('`'));
        let (Some(""), Some(path), Some(name)) = (cells.next(), cells.next(), cells.next()) else {
            continue;
        };
        if !path.ends_with(".rs") {
            continue;
        }
        let mut violation = |text| {
            let place = "docs/ARCHITECTURE.md".to_owned();
            found.push(Violation { rule: "map", place, line: n + 1, text });
        };
        match read(path) {
            None => violation(format!("there is no {path}")),
            Some(source) => {
                let is_there =
                    ["(", "<"].iter().any(|it| source.contains(&format!("fn {name}{it}")));
                if !is_there {
                    violation(format!("{path} has no function {name}"));
                }
            }
        }
    }
    found
}

/// Crates that the layers of `docs/ARCHITECTURE.md` lack, or that depend on one which is not below.
fn layers(text: &str, crates: &[&str], manifest: &dyn Fn(&str) -> String) -> Vec<Violation> {
    let layers = text.split_once("## Layers").map_or("", |(_, below)| below);
    let layers = layers.split("```").nth(1).unwrap_or_default();
    let is_named = |line: &str, name: &str| {
        line.split_whitespace().take_while(|word| crates.contains(word)).any(|word| word == name)
    };
    let layer = |name: &str| layers.lines().position(|line| is_named(line, name));
    let mut found = Vec::new();
    for name in crates {
        let mut violation = |text| {
            let place = "docs/ARCHITECTURE.md".to_owned();
            found.push(Violation { rule: "layer", place, line: 1, text });
        };
        let Some(own) = layer(name) else {
            violation(format!("the layers have no {name}"));
            continue;
        };
        for other in dependencies(&manifest(name)) {
            if layer(&other).is_none_or(|other| other <= own) {
                violation(format!("{name} depends on {other}, which is not below it"));
            }
        }
    }
    found
}

/// Returns the crates of this project that a manifest depends on, except for tests.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut is_dependency = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_dependency = matches!(line, "[dependencies]" | "[build-dependencies]");
        } else if is_dependency && line.starts_with("milepost") {
            let name = line.split(['.', ' ']).next().unwrap_or_default();
            found.push(name.strip_prefix("milepost-").unwrap_or("engine").to_owned());
        }
    }
    found
}

/// Checks the map of this project.
pub fn map(root: &Path, crates: &[&str]) -> Vec<Violation> {
    let text = std::fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap();
    let mut found = rows(&text, &|path| std::fs::read_to_string(root.join(path)).ok());
    assert!(text.contains(".rs` |"), "the tables are read");
    let manifest = |name: &str| root.join(name).join("Cargo.toml");
    let manifest = |name: &str| std::fs::read_to_string(manifest(name)).unwrap();
    found.extend(layers(&text, crates, &manifest));
    found
}

#[test]
fn a_file_or_function_that_is_gone_is_found() {
    let read = |path: &str| (path == "a/b.rs").then(|| "pub fn here(x: u8) {}".to_owned());
    let text = "| file | function | what |\n|---|---|---|\n| `a/b.rs` | `here` | x |\n";
    assert!(rows(text, &read).is_empty());
    assert_eq!(rows(&text.replace("`here`", "`gone`"), &read).len(), 1);
    assert_eq!(rows(&text.replace("a/b.rs", "a/c.rs"), &read).len(), 1);
}

#[test]
fn a_crate_that_is_missing_or_depends_upwards_is_found() {
    let text = "## Layers\n\n```\n   a  b     does\n     c   mod  all\n```\n";
    let manifest = |name: &str| match name {
        "a" => "[dependencies]\nserde.workspace = true\nmilepost-c.workspace = true\n".to_owned(),
        "c" => "[dev-dependencies]\nmilepost-a.workspace = true\n".to_owned(),
        _ => String::new(),
    };
    assert!(layers(text, &["a", "b", "c"], &manifest).is_empty());
    assert_eq!(layers(text, &["a", "b", "c", "mod", "d"], &manifest).len(), 1);
    let manifest = |_: &str| "[build-dependencies]\nmilepost-b = { path = \"../b\" }\n".to_owned();
    assert_eq!(layers(text, &["a", "b", "c"], &manifest).len(), 3);
}
