//! Rules of this project that no compiler checks: layers, names, sizes and prose.
//!
//! `allowed.txt` lists the violations that are there, and only gets shorter: a new violation fails
//! the test, and so does an entry that is not needed any more. `MILEPOST_TIDY=update` writes the
//! list anew, without new violations.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod allowed;
mod architecture;
mod budgets;
mod comments;
mod file_cycles;
mod files;
mod modules;
mod names;
mod programs;
mod prose;
mod references;
mod samples;

use std::fmt;
use std::path::{Path, PathBuf};

/// One place where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    rule: &'static str,
    /// A file, or the names that the rule is about.
    place: String,
    line: usize,
    text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, place, line, text } = self;
        write!(f, "{rule}: {place}:{line}: {text}")
    }
}

/// A source file of the product.
struct Source {
    /// The path from the root of the project.
    path: String,
    text: String,
    /// The parsed text; a file that the compiler refuses fails the test.
    syntax: syn::File,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            syntax: syn::parse_file(text).unwrap(),
        }
    }

    /// The modules that the file is in, from the root of its crate.
    fn modules(&self) -> Vec<String> {
        let below = self.path.split_once("/src/").map_or("lib.rs", |(_, below)| below);
        let mut parts: Vec<String> =
            below.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            parts.pop();
        }
        parts
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The sources of a crate.
fn sources(name: &str) -> Vec<Source> {
    let root = root();
    let mut files = files::below(&root.join(name).join("src"), ".rs");
    // `page/src` has another language.
    files.extend((name == "page").then(|| root.join("page/lib.rs")));
    let read = |file: PathBuf| {
        let path = file.strip_prefix(&root).unwrap().display().to_string();
        Source::new(&path, &std::fs::read_to_string(&file).unwrap())
    };
    files.into_iter().map(read).collect()
}

/// Returns paths and texts of the other sources: tests, benches, examples, fuzz targets.
fn other_sources(crates: &[&str]) -> Vec<(String, String)> {
    let root = root();
    let product: Vec<String> = crates.iter().map(|name| format!("{name}/src/")).collect();
    let files = files::below(&root, ".rs").into_iter();
    let paths = files.map(|file| file.strip_prefix(&root).unwrap().display().to_string());
    let is_other =
        |path: &String| path != "page/lib.rs" && !product.iter().any(|it| path.starts_with(it));
    let read = |path: String| {
        let text = std::fs::read_to_string(root.join(&path)).unwrap();
        (path, text)
    };
    paths.filter(is_other).map(read).collect()
}

fn violations() -> Vec<Violation> {
    let mut found = Vec::new();
    let listed = std::fs::read_to_string(root().join("tests/tidy/budgets.txt")).unwrap();
    found.extend(budgets::reasons(&listed));
    for name in budgets::crates(&listed) {
        let sources = sources(name);
        let references = references::between(&sources);
        found.extend(modules::cycles(name, &sources, &references));
        found.extend(file_cycles::check(name, &sources, &references));
        found.extend(names::twice(name, &sources));
        found.extend(budgets::check(&listed, name, &sources));
        for source in &sources {
            found.extend(files::check(source));
            found.extend(names::walls(source));
            found.extend(prose::source(&source.path, &source.text));
        }
        found.extend(files::module_style(&root().join(name).join("src"), &root()));
    }
    for (path, text) in other_sources(&budgets::crates(&listed)) {
        found.extend(prose::test_source(&path, &text));
    }
    for name in budgets::crates(&listed).into_iter().chain(["tests"]) {
        found.extend(programs::forgotten(&root().join(name), &root()));
    }
    found.extend(prose::documents(&root()));
    found.extend(architecture::map(&root(), &budgets::crates(&listed)));
    let engine = sources("engine");
    found.extend(names::public(&engine, &root()));
    found.extend(names::methods(&engine));
    found
}

#[test]
fn no_rule_is_broken_anew() {
    allowed::compare(&root().join("tests/tidy/allowed.txt"), violations());
}
