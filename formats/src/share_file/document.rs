//! The document around the pieces. The writer makes its lines of this table, and the reader accepts
//! no others, so that a browser and an import see the same pieces.

use super::{BEGINNING, CONTENTS_ID, END_TAG, VIEWER};

/// Length of a SHA-256 in base64.
const HASH: usize = 44;

/// Part of a line.
enum Part {
    Fixed(&'static str),
    /// The hash of the viewer or of its style, in base64.
    Hash,
    /// The title, as text of an element.
    Title,
    /// The style.
    Style,
}

use Part::{Fixed, Hash, Style, Title};

/// The lines between the first one and the contents.
const HEAD: [&[Part]; 13] = [
    &[Fixed("<html lang=\"en\">")],
    &[Fixed("<head>")],
    &[Fixed("<meta charset=\"utf-8\">")],
    &[
        Fixed(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             script-src 'sha256-",
        ),
        Hash,
        Fixed("'; style-src 'sha256-"),
        Hash,
        Fixed(
            "'; worker-src blob:; base-uri 'none'; form-action 'none'; \
             require-trusted-types-for 'script'; trusted-types worker\">",
        ),
    ],
    &[Fixed("<meta name=\"referrer\" content=\"no-referrer\">")],
    &[Fixed("<meta name=\"viewport\" content=\"width=device-width\">")],
    &[Fixed("<meta name=\"color-scheme\" content=\"light dark\">")],
    &[Fixed("<title>"), Title, Fixed(" · Milepost</title>")],
    &[Fixed("<style>"), Style, Fixed("</style>")],
    &[Fixed("</head>")],
    &[Fixed("<body>")],
    &[Fixed("<div id=\"page\"></div>")],
    &[Fixed(
        "<noscript>This file shows a task of Milepost, and needs JavaScript. `milepost import \
         FILE` reads it without a browser.</noscript>",
    )],
];

/// Number of lines between the first one and the contents.
pub(super) const HEAD_LINES: usize = HEAD.len();

/// The lines after the viewer.
pub(super) const END: [&str; 2] = ["</body>", "</html>"];

/// Returns the file up to its pieces. `hashes` are the SHA-256 hashes of the viewer and of the
/// style, in base64; no text of `contents` has a `<`.
pub fn head(hashes: [&str; 2], title: &str, style: &str, contents: &str) -> String {
    let mut hashes = hashes.into_iter();
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut head = BEGINNING.to_owned();
    for line in HEAD {
        for part in line {
            head += match part {
                Fixed(text) => text,
                Hash => hashes.next().unwrap_or_default(),
                Title => &title,
                Style => style,
            };
        }
        head.push('\n');
    }
    head + &contents_tag() + "\n" + contents + "\n" + END_TAG + "\n"
}

/// Returns the file after its pieces.
pub fn tail(viewer: &str) -> String {
    let [body, html] = END;
    format!("{VIEWER}{viewer}{END_TAG}\n{body}\n{html}\n")
}

/// Returns the start tag of the contents, without a line end.
pub fn contents_tag() -> String {
    format!("<script type=\"application/json\" id=\"{CONTENTS_ID}\">")
}

/// Returns `true` if a line, without its end, is the one with this number after the first.
pub(super) fn is_head(number: usize, line: &str) -> bool {
    HEAD.get(number).is_some_and(|parts| is_made_of(line, parts))
}

fn is_made_of(line: &str, parts: &[Part]) -> bool {
    match parts {
        [] => line.is_empty(),
        [Fixed(text), rest @ ..] => {
            line.strip_prefix(text).is_some_and(|line| is_made_of(line, rest))
        }
        [Hash, rest @ ..] => line
            .split_at_checked(HASH)
            .is_some_and(|(hash, line)| hash.bytes().all(is_base64) && is_made_of(line, rest)),
        // The last free part of a line: no tag is in it.
        [part @ (Title | Style), Fixed(end)] => line
            .strip_suffix(end)
            .is_some_and(|text| is_plain(text) && (matches!(part, Style) || !text.contains('>'))),
        [Title | Style, ..] => false,
    }
}

/// Returns `true` for a text that can have no tag and is one line for a browser, too.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains(['<', '\r', '\n', '\u{c}', '\0'])
}

pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Returns `true` for a line of a script that cannot end or begin an element in a browser.
pub(super) fn is_script(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    !["</script", "<script", "<!--"].iter().any(|mark| line.contains(mark))
}
