//! Words of comments and documents.

use std::path::Path;

use crate::comments;
use crate::{Violation, files};

/// Phrases of comments that have a plainer one, such as "undone", "restores" and "result".
const PHRASES: [&str; 10] = [
    "taken back",
    "takes back",
    "goes back",
    "went back",
    "let go of",
    "everybody",
    "anybody",
    "is none of",
    "what came of",
    "what comes of",
];

/// Crates whose doc comments are printed texts: the OpenAPI description and the command's help.
const PRINTED: [&str; 2] = ["api/src/", "cli/src/"];

/// Columns from which a literal of a test may make its line wider.
const LITERAL: usize = 60;

/// A comment begins with a noun or a verb in the third person, not with one of these.
const OPENINGS: [&str; 9] =
    ["What", "Whether", "Who", "Whose", "How", "Where", "Which", "Of", "It"];

/// Words that have a plainer one.
const WORDS: [&str; 8] =
    ["whoever", "somebody", "nobody", "lets go", "goes on", "meanwhile", "beside", "stands"];

/// Checks the comments of a source and the width of its lines.
pub fn source(path: &str, text: &str) -> Vec<Violation> {
    let mut found = comments(path, text);
    found.extend(widths(path, text).into_iter().map(|(_, violation)| violation));
    found
}

/// Checks tests, benches and examples. A line may be wider for a literal that has to stay whole.
pub fn test_source(path: &str, text: &str) -> Vec<Violation> {
    let mut found = comments(path, text);
    let widths = widths(path, text);
    if !widths.is_empty() {
        let literals = comments::literals(text);
        let is_literal = |n: usize| literals.get(n).is_some_and(|columns| *columns > LITERAL);
        let widths = widths.into_iter().filter(|(n, _)| !is_literal(*n));
        found.extend(widths.map(|(_, violation)| violation));
    }
    found
}

/// Lines over 100 columns, with their indices.
fn widths(path: &str, text: &str) -> Vec<(usize, Violation)> {
    let lines = text.lines().enumerate();
    let wide = lines.filter(|(_, line)| line.chars().count() > 100);
    let violation = |n| Violation {
        rule: "width",
        place: path.to_owned(),
        line: n + 1,
        text: "more than 100 columns".to_owned(),
    };
    wide.map(|(n, _)| (n, violation(n))).collect()
}

fn comments(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let violation = |rule, line, text: &str| Violation {
        rule,
        place: path.to_owned(),
        line,
        text: text.to_owned(),
    };
    let is_printed = PRINTED.iter().any(|it| path.starts_with(it));
    let mut last = None;
    for comment in comments::of(text) {
        let is_first = last != Some(comment.line - 1);
        last = Some(comment.line);
        let word = comment.text.split(|c: char| !c.is_alphanumeric()).next();
        let is_question = |word: &str| {
            // A comment between statements may refer to the code before it.
            OPENINGS.contains(&word) && (comment.is_doc || word != "It")
        };
        if is_first && word.is_some_and(is_question) {
            found.push(violation("opening", comment.line, &comment.text));
        }
        let mut words = forbidden(&comment.text, &WORDS);
        if !(comment.is_doc && is_printed) {
            words.extend(forbidden(&comment.text, &PHRASES));
        }
        found.extend(words.into_iter().map(|word| violation("word", comment.line, word)));
    }
    found
}

/// The words of the documents, code blocks left out.
pub fn documents(root: &Path) -> Vec<Violation> {
    let mut files = files::below(&root.join("docs"), ".md");
    files.push(root.join("README.md"));
    let mut found = Vec::new();
    for file in files {
        let place = file.strip_prefix(root).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let mut is_code = false;
        for (n, line) in text.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            let words = forbidden(line, &WORDS).into_iter().filter(|_| !is_code);
            found.extend(words.map(|word| Violation {
                rule: "word",
                place: place.clone(),
                line: n + 1,
                text: word.to_owned(),
            }));
        }
    }
    found
}

/// Returns the forbidden words of a text.
fn forbidden(text: &str, words: &[&'static str]) -> Vec<&'static str> {
    let plain: String =
        text.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { ' ' }).collect();
    let plain = format!(" {} ", plain.to_lowercase());
    let has = |word: &&str| plain.contains(&format!(" {word} "));
    words.iter().copied().filter(has).collect()
}
