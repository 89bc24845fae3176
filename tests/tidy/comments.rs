//! Comments and literal texts of Rust sources.

/// A comment of one line, or one line of a longer one.
#[derive(Debug, PartialEq, Eq)]
pub struct Comment {
    pub line: usize,
    pub text: String,
    /// `///` or `//!`.
    pub is_doc: bool,
}

/// The comments of a source. Comments with `/*` are not used here.
pub fn of(source: &str) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut end: Option<String> = None;
    for (n, line) in source.lines().enumerate() {
        if let Some(at) = scan(line, &mut end).comment {
            let text = &line[at..];
            let is_doc =
                (text.starts_with("///") && !text.starts_with("////")) || text.starts_with("//!");
            let text = text.trim_start_matches(['/', '!']).trim().to_owned();
            found.push(Comment { line: n + 1, text, is_doc });
        }
    }
    found
}

/// Returns the columns of the longest literal text in each line of a source.
pub fn literals(source: &str) -> Vec<usize> {
    let mut end = None;
    source.lines().map(|line| scan(line, &mut end).literal).collect()
}

/// Comment and texts of one line.
#[derive(Default)]
struct Scan {
    /// The byte at which a comment begins.
    comment: Option<usize>,
    /// The columns of the longest literal text.
    literal: usize,
}

/// Scans a line. `end` is the end of a text that continues over lines.
fn scan(line: &str, end: &mut Option<String>) -> Scan {
    let mut found = Scan::default();
    let (mut at, mut text_from) = (0, 0);
    while at < line.len() {
        let rest = &line[at..];
        if let Some(mark) = end {
            if mark == "\"" && rest.starts_with('\\') {
                at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
            } else if rest.starts_with(mark.as_str()) {
                at += mark.len();
                *end = None;
                found.literal = found.literal.max(line[text_from..at].chars().count());
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
            continue;
        }
        if rest.starts_with("//") {
            found.comment = Some(at);
            return found;
        }
        let before = line[..at].chars().next_back();
        let is_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if let Some((len, mark)) = raw(rest).filter(|_| !is_word) {
            (text_from, at, *end) = (at, at + len, Some(mark));
        } else if rest.starts_with('"') {
            (text_from, at, *end) = (at, at + 1, Some("\"".to_owned()));
        } else if let Some(len) = character(rest) {
            at += len;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    if end.is_some() {
        found.literal = found.literal.max(line[text_from..].chars().count());
    }
    found
}

/// The beginning of a raw text, and its end.
fn raw(rest: &str) -> Option<(usize, String)> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then(|| {
        let begin = rest.len() - after.len() + hashes + 1;
        (begin, format!("\"{}", "#".repeat(hashes)))
    })
}

/// The length of a character in quotes; a lifetime has no second quote.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    if let Some(escaped) = inner.strip_prefix('\\') {
        let first = escaped.chars().next().map_or(0, char::len_utf8);
        return Some(2 + first + escaped[first..].find('\'')? + 1);
    }
    let first = inner.chars().next()?.len_utf8();
    inner[first..].starts_with('\'').then_some(first + 2)
}
