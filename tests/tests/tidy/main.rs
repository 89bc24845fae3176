//! Rules of this project that no compiler checks: layers, names, sizes and prose.
//!
//! `allowed.txt` lists the violations that are there, and only gets shorter: a new violation fails
//! the test, and so does an entry that is not needed any more. `MILEPOST_TIDY=update` writes the
//! list anew, without new violations.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod allowed;
mod architecture;
mod comments;
mod files;
mod modules;
mod names;
mod prose;
mod samples;

use std::fmt;
use std::path::{Path, PathBuf};

/// The crates that are the product, and the most non-blank lines of each that are no tests.
const CRATES: [(&str, usize); 17] = [
    ("codec", 5_800),
    // Turns of programs that keep them in variables; calls compared by meaning; commands as text;
    // pieces that are made of events again.
    ("replay", 6_500),
    // Sources of pieces of states; heads of lineages of which no record is left; bodies that come
    // again and their chunks in memory, which take a third of sessions off the disk; copies of packs,
    // without which damage of one file loses bodies.
    ("store", 14_215),
    // Records of repairs; attached data that a removal carries on; pieces of states that are made of
    // their events again, in place of a third copy; snapshots compared with the chain as it is verified,
    // which takes a fifth off a verification.
    ("engine", 21_375),
    ("runtime", 4_600),
    ("workspace", 16_500),
    ("api", 5_800),
    ("langgraph", 1_400),
    // Whole records of damaged lines, formats by content, secrets in blocks, encodings and apart from
    // their names, recorded lines in any order.
    ("formats", 15_050),
    ("agents", 2_800),
    // Ends of calls that no hook tells, two sessions at once, folders outside of the project, paths
    // that tools name.
    ("sessions", 2_050),
    ("jobs", 2_400),
    ("page", 100),
    // Comparison of an index with its events.
    ("share", 1_300),
    ("server", 13_600),
    ("client", 4_100),
    // Stores that commands do not find by themselves, projects that are gone, reasons in rewinds,
    // words and options of other programs, commands that ask again, damage of which nothing is
    // known.
    ("cli", 27_700),
];

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
    /// Nothing where the file cannot be parsed: the compiler says so.
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
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
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

fn violations() -> Vec<Violation> {
    let mut found = Vec::new();
    for (name, most) in CRATES {
        let sources = sources(name);
        found.extend(modules::cycles(name, &sources));
        found.extend(names::twice(name, &sources));
        found.extend(files::budget(name, most, &sources));
        for source in &sources {
            found.extend(files::check(source));
            found.extend(names::walls(source));
            found.extend(prose::source(&source.path, &source.text));
        }
        found.extend(files::module_style(&root().join(name).join("src"), &root()));
    }
    found.extend(prose::documents(&root()));
    found.extend(architecture::map(&root()));
    found.extend(names::public(&sources("engine"), &root()));
    found
}

#[test]
fn no_rule_is_broken_anew() {
    allowed::compare(&root().join("tests/tests/tidy/allowed.txt"), violations());
}
