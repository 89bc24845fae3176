//! Words of comments and documents.

use std::path::Path;

use crate::comments;
use crate::{Violation, files};

/// A doc comment begins with a noun or a verb in the third person, not with one of these.
const OPENINGS: [&str; 9] =
    ["What", "Whether", "Who", "Whose", "How", "Where", "Which", "Of", "It"];

/// Words that have a plainer one.
const WORDS: [&str; 8] =
    ["whoever", "somebody", "nobody", "lets go", "goes on", "meanwhile", "beside", "stands"];

/// The words of a source's comments.
pub fn source(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let violation = |rule, line, text: &str| Violation {
        rule,
        place: path.to_owned(),
        line,
        text: text.to_owned(),
    };
    let mut last_doc = None;
    for comment in comments::of(text) {
        if comment.is_doc {
            let is_first = last_doc != Some(comment.line - 1);
            last_doc = Some(comment.line);
            let word = comment.text.split(|c: char| !c.is_alphanumeric()).next();
            if is_first && word.is_some_and(|word| OPENINGS.contains(&word)) {
                found.push(violation("opening", comment.line, &comment.text));
            }
        }
        for word in forbidden(&comment.text) {
            found.push(violation("word", comment.line, word));
        }
    }
    for (n, line) in text.lines().enumerate() {
        if line.chars().count() > 100 {
            found.push(violation("width", n + 1, "more than 100 columns"));
        }
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
            let words = forbidden(line).into_iter().filter(|_| !is_code);
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

/// The forbidden words of a text.
pub fn forbidden(text: &str) -> Vec<&'static str> {
    let plain: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let plain = format!(" {} ", plain.to_lowercase());
    let has = |word: &&str| plain.contains(&format!(" {word} "));
    WORDS.into_iter().filter(has).collect()
}
