//! Links of a page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns lines outside of code blocks with their numbers, without quoted code in them.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut is_code = false;
    for (n, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code ^= true;
        } else if !is_code {
            // Every second part is between backticks.
            let plain = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            lines.push((n + 1, plain));
        }
    }
    lines
}

/// The targets of a page's links and pictures, with their lines.
pub fn of(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (n, line) in prose(text) {
        for part in line.split("](").skip(1) {
            if let Some((target, _)) = part.split_once(')') {
                found.push((n, target.to_owned()));
            }
        }
    }
    found
}

/// Reports a target that is not there. Addresses of the network are not looked up.
pub fn check(page: &Path, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let file = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    if !file.exists() {
        return Err("no such file".into());
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    match anchors(&text).iter().any(|one| one == anchor) {
        true => Ok(()),
        false => Err("no such heading".into()),
    }
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor = anchor(heading.trim());
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(match *count {
            0 => anchor,
            n => format!("{anchor}-{n}"),
        });
        *count += 1;
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let keep = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let kept: String = heading.to_lowercase().chars().filter(keep).collect();
    kept.replace(' ', "-")
}

#[test]
fn links_are_found_outside_of_code() {
    let text = "[a](b.md) and ![c](d.svg#e)\n```sh\n[no](code)\n```\n`[no](code)` [f](#g)\n";
    let found = of(text);
    assert_eq!(found, [(1, "b.md".into()), (1, "d.svg#e".into()), (5, "#g".to_owned())]);
}

#[test]
fn anchors_are_those_of_headings() {
    let text = "# One: `two` (three)\n## A\n```sh\n# no\n```\n## A\n### 检查点 B\n#no\n";
    assert_eq!(anchors(text), ["one-two-three", "a", "a-1", "检查点-b"]);
}

#[test]
fn a_target_that_is_missing_is_reported() {
    let page = crate::pages::root().join("README.md");
    assert_eq!(check(&page, "https://example.com/nothing"), Ok(()));
    assert_eq!(check(&page, "docs/GLOSSARY.md#words"), Ok(()));
    assert_eq!(check(&page, "docs/GLOSSARY.md#sentences"), Err("no such heading".into()));
    assert_eq!(check(&page, "docs/NOTHING.md"), Err("no such file".into()));
}
