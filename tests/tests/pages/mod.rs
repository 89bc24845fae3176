//! The pages of README and docs/: their links and anchors lead somewhere, the book has each page,
//! the Chinese pages have the commands of the English ones, and the tables of routes are those of
//! the description.

mod blocks;
mod links;
mod routes;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The files of a folder with this ending, and of its folders.
fn below(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(below(&path, ending));
        } else if path.display().to_string().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The pages that people read.
fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages = below(&root.join("docs"), ".md");
    for name in ["README.md", "README.zh-CN.md", "CONTRIBUTING.md"] {
        pages.push(root.join(name));
    }
    pages.extend(below(&root.join("examples"), "README.md"));
    pages.push(root.join("clients/typescript/README.md"));
    pages
}

#[test]
fn every_link_of_a_page_leads_to_a_file_and_a_heading() {
    let mut dead = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (line, target) in links::of(&text) {
            if let Err(why) = links::check(&page, &target) {
                dead.push(format!("{}:{line}: {target}: {why}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn the_book_has_every_page_once() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<String> = links::of(&summary).into_iter().map(|(_, target)| target).collect();
    let unique: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), unique.len(), "a page is listed twice: {listed:?}");
    let there: BTreeSet<String> = below(&docs, ".md")
        .iter()
        .map(|page| page.strip_prefix(&docs).unwrap().display().to_string())
        .filter(|page| page != "SUMMARY.md")
        .collect();
    assert_eq!(unique, there);
}

#[test]
fn a_page_for_a_job_is_short_and_begins_with_its_commands() {
    for page in below(&root().join("docs/howto"), ".md") {
        let text = fs::read_to_string(&page).unwrap();
        let lines = text.lines().count();
        assert!((20..=60).contains(&lines), "{}: {lines} lines", page.display());
        let first = text.lines().position(|line| line == "```sh").unwrap();
        assert!(first < 8, "{}: its commands begin at line {}", page.display(), first + 1);
    }
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 220);
}

#[test]
fn the_chinese_pages_have_the_commands_and_programs_of_the_english_ones() {
    let docs = root().join("docs");
    let mut pairs = vec![(root().join("README.md"), root().join("README.zh-CN.md"))];
    for page in below(&docs.join("howto"), ".md").into_iter().chain([docs.join("CONCEPTS.md")]) {
        let other = docs.join("zh-CN").join(page.strip_prefix(&docs).unwrap());
        pairs.push((page, other));
    }
    assert_eq!(pairs.len(), below(&docs.join("zh-CN"), ".md").len() + 1, "pages without a pair");
    for (page, other) in pairs {
        let expected = blocks::of(&fs::read_to_string(&page).unwrap());
        let found = blocks::of(&fs::read_to_string(&other).unwrap());
        assert_eq!(expected, found, "{} and {}", page.display(), other.display());
    }
}
