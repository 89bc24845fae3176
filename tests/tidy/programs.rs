//! Programs of tests: each file of tests is in one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::Violation;
use crate::files::below;

/// Files in `tests/` of a crate that no program of tests includes. Where a manifest says
/// `autotests = false`, cargo builds only the programs that it names, and no compiler says that a
/// module is in none of them.
pub fn forgotten(dir: &Path, root: &Path) -> Vec<Violation> {
    let mut included = BTreeSet::new();
    for program in programs(dir) {
        let modules = program.parent().unwrap().to_owned();
        include(&program, &modules, &mut included);
    }
    let files = below(&dir.join("tests"), ".rs").into_iter();
    let violation = |file: PathBuf| Violation {
        rule: "forgotten",
        place: file.strip_prefix(root).unwrap().display().to_string(),
        line: 1,
        text: "no program of tests includes it: add it to `tests/runner.rs`".into(),
    };
    files.filter(|file| !included.contains(file)).map(violation).collect()
}

/// The roots of the programs of a crate, as cargo finds them.
fn programs(dir: &Path) -> Vec<PathBuf> {
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    let named = manifest.lines().filter_map(|line| quoted(line, "path = \"tests/"));
    let tests = dir.join("tests");
    let mut found: Vec<_> = named.map(|path| tests.join(path)).collect();
    if !manifest.contains("autotests = false") && tests.is_dir() {
        let entries = fs::read_dir(tests).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.map(|path| if path.is_dir() { path.join("main.rs") } else { path }));
    }
    found.retain(|path| path.exists() && path.extension().is_some_and(|end| end == "rs"));
    found
}

/// Adds a file whose modules are in a folder, and the files that it includes.
fn include(path: &Path, modules: &Path, included: &mut BTreeSet<PathBuf>) {
    let Ok(text) = fs::read_to_string(path) else { return };
    if !included.insert(path.to_owned()) {
        return;
    }
    let beside = path.parent().unwrap();
    for line in text.lines().map(str::trim) {
        let named = quoted(line, "#[path = \"").or_else(|| quoted(line, "include!(\""));
        if let Some(named) = named {
            let path = plain(&beside.join(named));
            include(&path, path.parent().unwrap(), included);
        }
        let module = line.trim_start_matches("pub ").strip_prefix("mod ");
        if let Some(name) = module.and_then(|rest| rest.strip_suffix(';')) {
            let folder = modules.join(name);
            include(&folder.with_extension("rs"), &folder, included);
            include(&folder.join("mod.rs"), &folder, included);
        }
    }
}

/// The text between a beginning and the next quotation mark.
fn quoted<'a>(line: &'a str, beginning: &str) -> Option<&'a str> {
    Some(line.strip_prefix(beginning)?.split_once('"')?.0)
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn a_file_that_no_program_includes_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let found = || {
        let found = forgotten(dir.path(), dir.path()).into_iter();
        found.map(|one| one.place).collect::<Vec<_>>()
    };
    let manifest = "[[test]]\nname = \"runner\"\npath = \"tests/runner.rs\"\n";
    write("Cargo.toml", &format!("autotests = false\n{manifest}"));
    write("tests/runner.rs", "mod a;\npub mod b;\n#[path = \"b/../b/e.rs\"]\nmod other;\n");
    write("tests/a.rs", "mod c;");
    write("tests/a/c.rs", "");
    write("tests/b/mod.rs", "mod d;\nmod f {\n    include!(\"f.rs\");\n}");
    for file in ["d", "e", "f"] {
        write(&format!("tests/b/{file}.rs"), "");
    }
    assert_eq!(found(), [""; 0]);
    for file in ["tests/b/g.rs", "tests/h.rs", "tests/i/main.rs"] {
        write(file, "");
    }
    assert_eq!(found(), ["tests/b/g.rs", "tests/h.rs", "tests/i/main.rs"]);
    write("Cargo.toml", manifest);
    assert_eq!(found(), ["tests/b/g.rs"], "cargo finds the programs");
}
