//! The map of the code: each file and function that it names exists.

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

/// Checks the map of this project.
pub fn map(root: &Path) -> Vec<Violation> {
    let text = std::fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap();
    let rows = rows(&text, &|path| std::fs::read_to_string(root.join(path)).ok());
    assert!(text.contains(".rs` |"), "the tables are read");
    rows
}

#[test]
fn a_file_or_function_that_is_gone_is_found() {
    let read = |path: &str| (path == "a/b.rs").then(|| "pub fn here(x: u8) {}".to_owned());
    let text = "| file | function | what |\n|---|---|---|\n| `a/b.rs` | `here` | x |\n";
    assert!(rows(text, &read).is_empty());
    assert_eq!(rows(&text.replace("`here`", "`gone`"), &read).len(), 1);
    assert_eq!(rows(&text.replace("a/b.rs", "a/c.rs"), &read).len(), 1);
}
