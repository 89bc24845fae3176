//! Sizes and places of files.

use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use crate::{Source, Violation};

/// Returns the files below a folder whose names end so, in order, without built and hidden ones.
pub fn below(dir: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if !dir.exists() {
        return found;
    }
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_string_lossy();
            if !name.starts_with('.') && !matches!(&*name, "target" | "node_modules") {
                found.extend(below(&path, end));
            }
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn violation(rule: &'static str, place: &str, text: String) -> Violation {
    Violation { rule, place: place.to_owned(), line: 1, text }
}

/// A file has 40 to 500 lines, or says why not; a module of tests is named so.
pub fn check(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    let lines = source.text.lines().count();
    let says = source.text.lines().any(|line| line.trim_start().starts_with("// tidy: "));
    if !(40..=500).contains(&lines) && !says {
        let text = format!("{lines} lines, and no `// tidy:` with a reason");
        found.push(violation("size", &source.path, text));
    }
    if is_of_tests(&source.path) {
        return found;
    }
    for item in &source.syntax.items {
        if let syn::Item::Mod(module) = item
            && module.content.is_none()
            && is_test(&module.attrs)
            && !is_of_tests(&module.ident.to_string())
        {
            let text = format!("module `{}` is of tests: name it `tests`", module.ident);
            found.push(violation("test-file", &source.path, text));
        }
    }
    found
}

/// Returns `true` for a file of tests, and for a module of them.
pub fn is_of_tests(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "testing" | "tests.rs"))
}

/// Returns `true` if attributes contain `cfg(test)`, alone or with others.
pub fn is_test(attrs: &[syn::Attribute]) -> bool {
    let says_test = |attr: &syn::Attribute| match &attr.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let tokens = list.tokens.to_string();
            tokens == "test" || tokens.starts_with("all (test") || tokens.starts_with("all(test")
        }
        _ => false,
    };
    attrs.iter().any(says_test)
}

/// A module with others below it is `mod.rs` in its folder.
pub fn module_style(src: &Path, root: &Path) -> Vec<Violation> {
    let files = below(src, ".rs").into_iter();
    let beside = files.filter(|file| file.with_extension("").is_dir());
    let place = |file: PathBuf| file.strip_prefix(root).unwrap().display().to_string();
    beside
        .map(|file| violation("mod-style", &place(file), "belongs to its folder, as mod.rs".into()))
        .collect()
}

/// Non-blank lines that are no tests.
pub fn product_lines(source: &Source) -> usize {
    if is_of_tests(&source.path) {
        return 0;
    }
    let mut tests = Tests(Vec::new());
    tests.visit_file(&source.syntax);
    let is_test = |n: usize| tests.0.iter().any(|(from, to)| (*from..=*to).contains(&n));
    let lines = source.text.lines().enumerate();
    lines.filter(|(n, line)| !line.trim().is_empty() && !is_test(n + 1)).count()
}

/// First and last lines of modules of tests.
struct Tests(Vec<(usize, usize)>);

impl<'a> Visit<'a> for Tests {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        use syn::spanned::Spanned;
        if is_test(&module.attrs) {
            let span = module.span();
            self.0.push((span.start().line, span.end().line));
            return;
        }
        visit::visit_item_mod(self, module);
    }
}
