//! Each rule is seen to fail.

use crate::allowed::{count, differences};
use crate::comments;
use crate::{Source, Violation, budgets, files, modules, names, prose};

fn rules(found: &[Violation]) -> Vec<&'static str> {
    found.iter().map(|one| one.rule).collect()
}

/// A source of a usual length.
fn source(path: &str, text: &str) -> Source {
    Source::new(path, &format!("{text}{}", "\n".repeat(60)))
}

#[test]
fn modules_that_name_each_other_are_found() {
    let sources = [
        source("x/src/lib.rs", "mod a; mod b; mod c; pub use b::B;"),
        source("x/src/a.rs", "use crate::B; fn f() { crate::c::g() }"),
        source("x/src/b/mod.rs", "mod d; pub struct B;"),
        source("x/src/b/d.rs", "use super::super::a::{self, A};"),
        source("x/src/c.rs", "#[cfg(test)] mod tests { use crate::a; }"),
    ];
    let found = modules::cycles("x", &sources);
    let places: Vec<_> = found.iter().map(|one| one.place.as_str()).collect();
    assert_eq!(places, ["x: a -> b", "x: b -> a"]);
    assert!(modules::cycles("x", &sources[..3]).is_empty());
}

#[test]
fn sizes_and_places_of_files_are_checked() {
    let long = |text: &str| Source::new("x/src/a.rs", &format!("{text}\n").repeat(501));
    assert_eq!(rules(&files::check(&long(""))), ["size"]);
    assert!(files::check(&long("// tidy: one table")).is_empty());
    assert_eq!(rules(&files::check(&Source::new("x/src/a.rs", "mod b;"))), ["size"]);
    let tests = source("x/src/a.rs", "#[cfg(all(test, not(shuttle)))] mod crash;");
    assert_eq!(rules(&files::check(&tests)), ["test-file"]);
    let tests = source("x/src/a.rs", "#[cfg(test)] mod tests;");
    assert!(files::check(&tests).is_empty());
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("a")).unwrap();
    std::fs::write(dir.path().join("a.rs"), "").unwrap();
    assert_eq!(rules(&files::module_style(dir.path(), dir.path())), ["mod-style"]);
}

#[test]
fn lines_of_tests_and_blank_ones_are_not_counted() {
    let text = "fn a() {}\n\n// b\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
    let sources = [Source::new("x/src/a.rs", text)];
    assert_eq!(files::product_lines(&sources[0]), 2);
}

#[test]
fn a_budget_is_kept_follows_its_crate_and_is_raised_with_a_reason() {
    let sources = [Source::new("x/src/a.rs", &"fn a() {}\n".repeat(100))];
    let reason = "records of repairs, which nothing else keeps";
    let checked = |text: &str| rules(&budgets::check(text, "x", &sources));
    assert!(checked(&format!("x 100 {reason}")).is_empty());
    assert_eq!(checked(&format!("x 99 {reason}")), ["budget"]);
    assert!(checked(&format!("x 152 {reason}")).is_empty());
    assert_eq!(checked(&format!("x 153 {reason}")), ["budget"], "it follows its crate");
    assert!(checked(&format!("# x 7\nx 9 {reason}\ny 8 {reason}\nx 100 {reason}")).is_empty());

    let explained = |text: &str| rules(&budgets::reasons(text));
    assert_eq!(explained("x 9"), ["budget-reason"]);
    assert!(explained(&format!("x 9 {reason}\nx 8 less")).is_empty());
    assert_eq!(explained(&format!("x 9 {reason}\ny 8 {reason}\nx 10 more")), ["budget-reason"]);
    assert!(explained(&format!("x 9 {reason}\nx 10 {reason}")).is_empty());
    assert_eq!(budgets::crates(&format!("x 9 {reason}\ny 8 {reason}\nx 10 more")), ["x", "y"]);
}

#[test]
fn openings_words_and_widths_are_checked() {
    let found = prose::source("x", "/// What a thing is.\n/// Where it is, too.\nfn a() {}");
    assert_eq!(rules(&found), ["opening"]);
    let found =
        prose::source("x", "// It is small.\n\nfn a() {} // Whether.\n\n// A thing.\n// It");
    assert_eq!(rules(&found), ["opening"]);
    let found = prose::source("x", "//! Goes on, and nobody: lets go.\n// Beside. Standstill.");
    let words: Vec<_> = found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(words, ["nobody", "lets go", "goes on", "beside"]);
    assert!(prose::source("x", "//! goes_on.rs").is_empty(), "the name of a file");
    let text = "/// A restore is taken back.\nfn a() {}\n// It goes back.";
    assert_eq!(rules(&prose::source("engine/src/x.rs", text)), ["word", "word"]);
    assert_eq!(rules(&prose::source("api/src/x.rs", text)), ["word"]);
    let wide = format!("fn a() {{ /* {} */ }}", "x".repeat(100));
    assert_eq!(rules(&prose::source("x", &wide)), ["width"]);
}

#[test]
fn a_literal_may_make_a_line_of_a_test_wide() {
    let line = |len: usize| format!("fn a() {{ b({:70}\"{}\") }}", "", "x".repeat(len));
    assert_eq!(rules(&prose::source("x", &line(70))), ["width"]);
    assert_eq!(rules(&prose::test_source("x", &line(70))), [""; 0]);
    assert_eq!(rules(&prose::test_source("x", &line(30))), ["width"]);
    let two = format!("const A: &str = \"a\n{}\n\";", "x".repeat(120));
    assert_eq!(rules(&prose::test_source("x", &two)), [""; 0]);
    let comment = format!("// \"{}\"", "x".repeat(120));
    assert_eq!(rules(&prose::test_source("x", &comment)), ["width"]);
}

#[test]
fn comments_are_told_from_texts() {
    let text = "let a = \"// no \\\" // no\"; // yes\nlet b = r#\"// no\n\" // no\"#; // so\n\
                let c = '\"'; let d = '\\''; // and 'a\nfn e<'a>() {} /// doc\n";
    let found: Vec<_> = comments::of(text).into_iter().map(|one| one.text).collect();
    assert_eq!(found, ["yes", "so", "and 'a", "doc"]);
}

#[test]
fn calls_have_their_place() {
    let text = "fn a() { std::thread::Builder::new(); sled::open(\"\"); b.unwrap_or_default(); }";
    let found = names::walls(&source("engine/src/a.rs", text));
    assert_eq!(rules(&found), ["wall", "wall", "default"]);
    assert_eq!(rules(&names::walls(&source("engine/src/kv.rs", "use sled::Db;"))), [""; 0]);
    assert_eq!(rules(&names::walls(&source("engine/src/a/tests.rs", text))), [""; 0]);
}

#[test]
fn names_of_types_and_the_root_are_checked() {
    let sources = [
        source("x/src/a.rs", "pub(crate) struct Place; struct Own;"),
        source("x/src/b.rs", "pub enum Place {} struct Own;"),
    ];
    assert_eq!(names::twice("x", &sources)[0].place, "x: Place");
    let lib = "mod a; pub mod b; pub mod c { pub use a::H; } pub use a::{C, d::E as F}; use a::G;";
    let lib = syn::parse_file(lib).unwrap();
    let names: Vec<_> = names::public_names(&lib, &sources).into_iter().collect();
    assert_eq!(names, ["C", "F", "b", "b::Place", "c", "c::H"]);
}

#[test]
fn the_list_neither_hides_nor_outlives_a_violation() {
    let one = |place: &str| Violation {
        rule: "word",
        place: place.to_owned(),
        line: 1,
        text: String::new(),
    };
    let allowed = count(&[one("a"), one("b"), one("b")]);
    let found = count(&[one("a"), one("a"), one("b")]);
    let (new, gone) = differences(&allowed, &found);
    assert_eq!((new[0].1.as_str(), new.len()), ("a", 1));
    assert_eq!((gone[0].1.as_str(), gone.len()), ("b", 1));
}
