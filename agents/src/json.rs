//! JSON text, with the places of its parts.
//!
//! An edit of a text needs to know where each part of it begins and ends: all that is not changed
//! stays as it is, with its white space, numbers, escapes and repeated names. Values of any depth
//! are read without recursion.

use std::borrow::Cow;
use std::ops::Range;

/// A reason why a text is not JSON, and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) at: usize,
    pub(crate) reason: &'static str,
}

/// A value within a text that was checked.
#[derive(Debug, Clone)]
pub(crate) struct Json<'a> {
    text: &'a str,
    pub(crate) span: Range<usize>,
}

/// An element of an array, or a member of an object.
#[derive(Debug, Clone)]
pub(crate) struct Part<'a> {
    /// The name of a member.
    pub(crate) name: Option<Cow<'a, str>>,
    /// The offset of the name, or else of the value.
    pub(crate) start: usize,
    pub(crate) value: Json<'a>,
}

impl Part<'_> {
    /// Returns the offset after the value.
    pub(crate) fn end(&self) -> usize {
        self.value.span.end
    }
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Object,
    Array,
    Text,
    Number,
    Bool,
    Null,
}

impl JsonKind {
    /// Returns the name, with its article.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "a list",
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Bool => "a truth value",
            Self::Null => "null",
        }
    }
}

impl<'a> Json<'a> {
    /// Reads a text with one value. A byte order mark in front of it is allowed.
    pub(crate) fn parse(text: &'a str) -> Result<Self, JsonError> {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut scanner = Scanner { bytes: text.as_bytes(), at };
        scanner.space();
        let start = scanner.at;
        scanner.value()?;
        let span = start..scanner.at;
        scanner.space();
        match scanner.peek() {
            None => Ok(Self { text, span }),
            Some(_) => Err(scanner.error("there is more behind the value")),
        }
    }

    /// Returns the text of the value.
    pub(crate) fn raw(&self) -> &'a str {
        self.text.get(self.span.clone()).unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> JsonKind {
        match self.raw().as_bytes().first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::Text,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') | None => JsonKind::Null,
            Some(_) => JsonKind::Number,
        }
    }

    /// Returns the members of an object or the elements of an array, in their order; nothing for
    /// another value.
    pub(crate) fn parts(&self) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        self.each_part(|part| parts.push(part));
        parts
    }

    /// Calls a function with each part, in their order.
    pub(crate) fn each_part(&self, mut of: impl FnMut(Part<'a>)) {
        let is_object = match self.kind() {
            JsonKind::Object => true,
            JsonKind::Array => false,
            _ => return,
        };
        let mut scanner = Scanner { bytes: self.text.as_bytes(), at: self.span.start + 1 };
        scanner.space();
        // The text was checked: an error is the closing bracket of an empty container.
        while let Ok(part) = scanner.part(self.text, is_object) {
            of(part);
            scanner.space();
            if scanner.peek() != Some(b',') {
                break;
            }
            scanner.at += 1;
            scanner.space();
        }
    }

    /// Returns the last member of a name: it is the one that counts for the agents.
    pub(crate) fn member(&self, name: &str) -> Option<Self> {
        let mut found = None;
        self.each_part(|part| {
            if part.name.as_deref() == Some(name) {
                found = Some(part.value);
            }
        });
        found
    }

    /// Returns the content of a text. Halves of characters become U+FFFD.
    pub(crate) fn text(&self) -> Option<Cow<'a, str>> {
        (self.kind() == JsonKind::Text).then(|| decoded(self.raw()))
    }
}

/// Reason against comments: some agents allow them, others do not.
const COMMENT: &str = "comments are not allowed in JSON";

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn error(&self, reason: &'static str) -> JsonError {
        JsonError { at: self.at.min(self.bytes.len()), reason }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Reads one part of a container of a text that was checked.
    fn part<'a>(&mut self, text: &'a str, is_object: bool) -> Result<Part<'a>, JsonError> {
        let start = self.at;
        let mut name = None;
        if is_object {
            self.string()?;
            name = text.get(start..self.at).map(decoded);
            self.colon()?;
        }
        let begin = self.at;
        self.value()?;
        Ok(Part { name, start, value: Json { text, span: begin..self.at } })
    }

    /// Reads a value of any depth.
    fn value(&mut self) -> Result<(), JsonError> {
        // The closing brackets of the containers that are open.
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if !self.take(b'}') {
                        self.name()?;
                        open.push(b'}');
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if !self.take(b']') {
                        open.push(b']');
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b'/') => return Err(self.error(COMMENT)),
                _ => return Err(self.error("a value is missing")),
            }
            if !self.closed(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Continues after a value, up to the next one. `false` if all containers are closed.
    fn closed(&mut self, open: &mut Vec<u8>) -> Result<bool, JsonError> {
        while let Some(close) = open.last().copied() {
            self.space();
            if self.take(close) {
                open.pop();
            } else if self.take(b',') {
                self.space();
                if close == b'}' {
                    self.name()?;
                }
                return Ok(true);
            } else {
                return Err(self.error(match close {
                    b'}' => "`,` or `}` is missing",
                    _ => "`,` or `]` is missing",
                }));
            }
        }
        Ok(false)
    }

    fn name(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'/') => return Err(self.error(COMMENT)),
            _ => return Err(self.error("a name in quotes is missing")),
        }
        self.colon()
    }

    fn colon(&mut self) -> Result<(), JsonError> {
        self.space();
        if !self.take(b':') {
            return Err(self.error("`:` is missing"));
        }
        self.space();
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.error("a value is missing"));
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => Err(self.error("a digit is missing")),
        }
    }

    fn number(&mut self) -> Result<(), JsonError> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), JsonError> {
        if !self.take(b'"') {
            return Err(self.error("a text is missing"));
        }
        loop {
            match self.peek() {
                None => return Err(self.error("a text has no end")),
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                        Some(b'u') => {
                            let hex = self.bytes.get(self.at + 1..self.at + 5);
                            if !hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
                                return Err(self.error("four hexadecimal digits are missing"));
                            }
                            self.at += 4;
                        }
                        _ => return Err(self.error("this escape is not one of JSON")),
                    }
                    self.at += 1;
                }
                Some(0..0x20) => return Err(self.error("a control character needs an escape")),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }
}

/// Returns the content of a text in quotes that was checked.
fn decoded(raw: &str) -> Cow<'_, str> {
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    // Halves of characters are put together as in UTF-16.
    let mut units: Vec<u16> = Vec::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            units.extend(c.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        units.push(match rest.next() {
            Some('u') => {
                let hex = rest.as_str().get(..4).unwrap_or_default();
                rest = rest.as_str().get(4..).unwrap_or_default().chars();
                u16::from_str_radix(hex, 16).unwrap_or(0xfffd)
            }
            Some('b') => 8,
            Some('f') => 12,
            Some('n') => 10,
            Some('r') => 13,
            Some('t') => 9,
            // `"`, `\` and `/` stand for themselves.
            Some(c) => u16::try_from(u32::from(c)).unwrap_or(0xfffd),
            None => 0xfffd,
        });
    }
    Cow::Owned(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_have_their_places() {
        let text = " {\"a\" : [1, {}] ,\"\\u0062\":\"x\\n\\ud83d\\ude00\\ud800\"}\n";
        let json = Json::parse(text).unwrap();
        let parts = json.parts();
        let names: Vec<_> = parts.iter().map(|part| part.name.clone().unwrap()).collect();
        assert_eq!(names, ["a", "b"]);
        let a = json.member("a").unwrap();
        assert_eq!((a.raw(), a.kind()), ("[1, {}]", JsonKind::Array));
        assert_eq!(a.parts().iter().map(|part| part.value.raw()).collect::<Vec<_>>(), ["1", "{}"]);
        assert_eq!(json.member("b").unwrap().text().unwrap(), "x\n😀\u{fffd}");
        assert!(Json::parse("\u{feff}[ ]").unwrap().parts().is_empty());
    }

    #[test]
    fn the_last_of_repeated_names_counts() {
        let json = Json::parse(r#"{"a": 1, "a": 2}"#).unwrap();
        assert_eq!(json.member("a").unwrap().raw(), "2");
    }

    #[test]
    fn a_million_brackets_are_read() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(Json::parse(&deep).unwrap().parts().len(), 1);
        assert!(Json::parse(&deep[1..]).is_err());
    }

    #[test]
    fn errors_have_their_places() {
        for (text, at) in [
            ("", 0),
            ("{", 1),
            ("[1,]", 3),
            ("{\"a\" 1}", 5),
            ("// a\n{}", 0),
            ("{} {}", 3),
            ("[01]", 2),
            ("\"\\x\"", 2),
            ("\"a", 2),
            ("{a: 1}", 1),
            ("nul", 0),
        ] {
            assert_eq!(Json::parse(text).unwrap_err().at, at, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_is_json_here_as_for_others(
            text in "[\\[\\]{}\",:0-9.eE+\\\\untrfalsbd \\-]{0,24}"
        ) {
            let other = serde_json::from_str::<serde::de::IgnoredAny>(&text);
            prop_assert_eq!(Json::parse(&text).is_ok(), other.is_ok(), "{:?}", other);
        }

        #[test]
        fn texts_are_decoded_as_by_others(text in any::<String>()) {
            let raw = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(Json::parse(&raw).unwrap().text().unwrap(), text);
        }
    }
}
