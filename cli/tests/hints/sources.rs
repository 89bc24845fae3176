//! The hints in the sources: texts with a command or an option in backquotes.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A text of the sources.
pub struct Hint {
    file: String,
    text: String,
}

impl Hint {
    /// The line of the hint in the list.
    pub fn line(&self) -> String {
        format!("{}: {}", self.file, self.text.replace('\n', "\\n"))
    }

    /// The parts of the text between its values.
    pub fn parts(&self) -> Vec<String> {
        let mut parts = vec![String::new()];
        let mut chars = self.text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '{' | '}' if chars.peek() == Some(&c) => {
                    chars.next();
                    parts.last_mut().unwrap().push(c);
                }
                '{' => {
                    chars.by_ref().find(|c| *c == '}');
                    parts.push(String::new());
                }
                c => parts.last_mut().unwrap().push(c),
            }
        }
        parts
    }
}

/// All hints of the product.
pub fn hints() -> Vec<Hint> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let crates = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for folder in crates.filter(|folder| folder.join("Cargo.toml").is_file()) {
        // Figures, and programs that show how to use the crates, are no part of the product.
        if !["benches", "examples", "fuzz", "tests"].iter().any(|name| folder.ends_with(name)) {
            below(&folder.join("src"), &mut files);
        }
    }
    files.sort();
    let mut hints = Vec::new();
    for path in files {
        let file = path.strip_prefix(root).unwrap().display().to_string();
        let tokens: TokenStream = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        let mut texts = Vec::new();
        collect(tokens, &mut texts);
        let texts = texts.into_iter().filter(|text| is_hint(text));
        hints.extend(texts.map(|text| Hint { file: file.clone(), text }));
    }
    hints
}

fn is_hint(text: &str) -> bool {
    // The page of `man`, its own words, and the begin of a printed command.
    let commands = text.matches("`milepost ").count() - text.matches("`milepost `").count();
    // `--` between a command and its arguments is not an option.
    let has_option = text.replace("`--`", "").contains("`--");
    (commands > 0 && text != "`milepost ") || has_option
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let is_of_tests = ["tests", "testing", "tests.rs"].iter().any(|name| path.ends_with(name));
        match path.is_dir() {
            _ if is_of_tests => {}
            true => below(&path, files),
            false if path.extension().is_some_and(|ext| ext == "rs") => files.push(path),
            false => {}
        }
    }
}

/// Collects the texts of tokens, without comments, attributes and tests.
fn collect(tokens: TokenStream, texts: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut is_of_tests = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '!') {
                    tokens.next();
                }
                if let Some(TokenTree::Group(group)) = tokens.peek()
                    && group.delimiter() == Delimiter::Bracket
                {
                    is_of_tests |= group.stream().to_string().replace(' ', "") == "cfg(test)";
                    tokens.next();
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => is_of_tests = false,
            TokenTree::Group(group) if is_of_tests => {
                is_of_tests = group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Group(group) => collect(group.stream(), texts),
            TokenTree::Literal(literal) => {
                let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
                texts.extend(text.ok().map(|text| text.value()));
            }
            _ => {}
        }
    }
}
