//! Text on one line, of bounded length.

use std::str::Chars;

use milepost_codec::Json;
use serde_json::Value;

/// The longest text of a row, in characters, where a reader asks for no other.
pub const TEXT_MAX: usize = 160;

/// JSON up to this length is parsed for a brief form, in bytes; longer JSON is shown as it is.
const PARSED_MAX: usize = 64 << 10;

/// Fields of arguments that describe a call, in the order of preference.
const TELLING: [&str; 11] = [
    "command",
    "cmd",
    "argv",
    "script",
    "file_path",
    "path",
    "filename",
    "file_name",
    "url",
    "query",
    "pattern",
];

/// A line that is being made.
pub(crate) struct Line {
    text: String,
    /// The most characters.
    max: usize,
    /// Characters that may still be added.
    left: usize,
    /// Set if the last character is a space, or the line is empty.
    spaced: bool,
    is_cut: bool,
}

impl Line {
    /// Begins a line of at most `max` characters.
    pub(crate) fn within(max: usize) -> Self {
        Self { text: String::new(), max, left: max, spaced: true, is_cut: false }
    }

    /// Adds text. White space and control characters become one space.
    pub(crate) fn add(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            if !self.add_char(c) {
                break;
            }
        }
        self
    }

    /// Adds a character. Returns `false` if the line is full.
    fn add_char(&mut self, c: char) -> bool {
        let is_space = c.is_whitespace() || c.is_control();
        if is_space && self.spaced {
            return true;
        }
        if self.left == 0 {
            self.is_cut |= !is_space;
            return !self.is_cut;
        }
        self.text.push(if is_space { ' ' } else { c });
        self.spaced = is_space;
        self.left -= 1;
        true
    }

    /// Adds a JSON value: a text without quotes, a list of parts as their texts, other values as
    /// they are.
    pub(crate) fn add_json(&mut self, json: &Json) -> &mut Self {
        let text = json.text();
        match text.as_bytes().first() {
            Some(b'"') => self.add_string(text),
            Some(b'[') if text.len() <= PARSED_MAX => match texts_of_parts(text) {
                Some(texts) => self.add(&texts),
                None => self.add(text),
            },
            _ => self.add(text),
        }
    }

    /// Adds a JSON string, and reads no more of it than the line has room for.
    fn add_string(&mut self, json: &str) -> &mut Self {
        let mut chars = json.chars();
        chars.next();
        while let Some(c) = chars.next() {
            let c = match c {
                '"' => break,
                '\\' => unescaped(&mut chars),
                c => c,
            };
            if !self.add_char(c) {
                break;
            }
        }
        self
    }

    /// Adds the first line with a letter or digit of a JSON text; other JSON as it is.
    pub(crate) fn add_first_line(&mut self, json: &Json) -> &mut Self {
        match serde_json::from_str::<String>(json.text()) {
            Ok(text) => self.add(first_line(&text)),
            Err(_) => self.add_json(json),
        }
    }

    /// Returns the line; one that is cut ends with `…`.
    pub(crate) fn end(&mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        if text.ends_with(' ') {
            text.pop();
        }
        if self.is_cut {
            if text.chars().count() == self.max {
                text.pop();
            }
            text.push('…');
        }
        text
    }
}

/// Returns the character of an escape sequence of JSON (RFC 8259, section 7), whose backslash was
/// read. Half of a surrogate pair is U+FFFD.
fn unescaped(chars: &mut Chars<'_>) -> char {
    match chars.next() {
        Some('n' | 'r' | 't' | 'b' | 'f') => ' ',
        Some('u') => {
            let first = unit(chars);
            let mut ahead = chars.clone();
            if (0xd800..0xdc00).contains(&first)
                && ahead.next() == Some('\\')
                && ahead.next() == Some('u')
            {
                let second = unit(&mut ahead);
                if (0xdc00..0xe000).contains(&second) {
                    *chars = ahead;
                    let pair = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    return char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER);
                }
            }
            char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        Some(c) => c,
        None => char::REPLACEMENT_CHARACTER,
    }
}

/// Reads four hexadecimal digits.
fn unit(chars: &mut Chars<'_>) -> u32 {
    let digits = chars.by_ref().take(4).map(|c| c.to_digit(16).unwrap_or(0));
    digits.fold(0, |unit, digit| unit << 4 | digit)
}

/// Returns the texts of a list of parts, as messages of several programs have it.
fn texts_of_parts(json: &str) -> Option<String> {
    let Ok(Value::Array(parts)) = serde_json::from_str(json) else {
        return None;
    };
    let mut texts = Vec::new();
    for part in &parts {
        match part {
            Value::String(text) => texts.push(text.as_str()),
            Value::Object(fields) => {
                let text = fields.get("text").or_else(|| fields.get("content"));
                texts.push(text.and_then(Value::as_str)?);
            }
            _ => return None,
        }
    }
    Some(texts.join(" "))
}

/// Returns the first line with a letter or digit.
pub(crate) fn first_line(text: &str) -> &str {
    let has_word = |line: &&str| line.chars().any(char::is_alphanumeric);
    text.lines().find(has_word).unwrap_or(text)
}

/// Returns the arguments of a call in brief, in at most `max` characters.
pub(crate) fn arguments(json: &Json, max: usize) -> String {
    let text = json.text();
    let mut line = Line::within(max);
    if text.len() > PARSED_MAX {
        return line.add(text).end();
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else {
        return line.add_json(json).end();
    };
    let telling = TELLING.iter().find_map(|name| words(fields.get(*name)?));
    if let Some(telling) = telling {
        return line.add(&telling).end();
    }
    for value in fields.values() {
        match value {
            Value::String(text) => line.add(text),
            other => line.add(&other.to_string()),
        };
        line.add(" ");
    }
    line.end()
}

/// Returns a text, or the words of a list of texts.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<_>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(value: &Value) -> Json {
        Json::from_value(value).unwrap()
    }

    fn line(text: &str) -> String {
        Line::within(TEXT_MAX).add(text).end()
    }

    #[test]
    fn white_space_and_controls_are_one_space_and_a_cut_shows() {
        assert_eq!(line("  a\r\n\tb\u{1b}[0m  "), "a b [0m");
        let exact = "x".repeat(TEXT_MAX);
        assert_eq!(line(&exact), exact);
        assert_eq!(line(&format!("{exact} \n ")), exact);
        let cut = line(&format!("{exact}y"));
        assert_eq!((cut.chars().count(), cut.ends_with("x…")), (TEXT_MAX, true));
    }

    #[test]
    fn arguments_are_what_a_call_is_about() {
        let brief = |value: Value| arguments(&json(&value), TEXT_MAX);
        use serde_json::json as j;
        assert_eq!(brief(j!({"description": "run", "command": "make test"})), "make test");
        assert_eq!(brief(j!({"argv": ["ls", "-l"]})), "ls -l");
        assert_eq!(brief(j!({"path": "a.py", "line_number": 7})), "a.py");
        assert_eq!(brief(j!({"id": "MDCLVA", "n": 2})), "MDCLVA 2");
        assert_eq!(brief(j!({"command": 3, "x": [1]})), "3 [1]");
        assert_eq!(brief(j!("text\nhere")), "text here");
        assert_eq!(brief(j!({})), "");
    }

    #[test]
    fn the_texts_of_parts_are_read_and_other_lists_are_shown() {
        use serde_json::json as j;
        let shown = |value: Value| Line::within(TEXT_MAX).add_json(&json(&value)).end();
        assert_eq!(shown(j!([{"type": "text", "text": "a"}, {"content": "b"}, "c"])), "a b c");
        assert_eq!(shown(j!([{"type": "image"}])), "[{\"type\":\"image\"}]");
        assert_eq!(shown(j!({"a": 1})), "{\"a\":1}");
    }

    proptest! {
        #[test]
        fn a_line_is_short_and_has_no_control(text in "\\PC{0,400}|[\\s\\S]{0,400}") {
            let shown = line(&text);
            prop_assert!(shown.chars().count() <= TEXT_MAX);
            prop_assert!(!shown.chars().any(char::is_control));
            prop_assert!(!shown.contains("  "));
        }

        #[test]
        fn a_json_string_is_shown_as_its_text(text in "[\\s\\S]{0,3000}") {
            let stored = json(&Value::String(text.clone()));
            let (shown, whole) = (Line::within(TEXT_MAX).add_json(&stored).end(), line(&text));
            prop_assert_eq!(shown, whole);
        }
    }
}
