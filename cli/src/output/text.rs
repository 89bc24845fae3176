//! Text as it may be printed. What comes out of a store or a file may hold anything; nothing of it
//! reaches a terminal as a control character.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns of a terminal a text takes: a wide character takes two.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text, and spaces until it takes so many columns.
pub fn padded(text: &str, columns: usize) -> String {
    let spaces = columns.saturating_sub(width(text));
    format!("{text}{:spaces$}", "")
}

/// The text on one line, without control characters.
pub fn printable(text: &str) -> Cow<'_, str> {
    clean(text, |c| c.is_control())
}

/// The text with its line ends, and without other control characters.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    clean(text, |c| c.is_control() && c != '\n')
}

/// Returns `true` if a character turns the direction of writing: it can make a line read as another
/// one.
pub(super) fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(super) fn clean(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c| bad(c) || turns(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// As much of the text as takes at most `max` columns, on one line.
pub fn excerpt(text: &str, max: usize) -> String {
    let mut line = String::new();
    let mut columns = 0;
    for word in text.split_whitespace() {
        let space = (!line.is_empty()).then_some(' ');
        for c in space.into_iter().chain(word.chars()) {
            columns += c.width().unwrap_or(1);
            if columns > max {
                line.push('…');
                return printable(&line).into_owned();
            }
            line.push(c);
        }
    }
    printable(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_a_terminal() {
        assert_eq!(printable("a\x1b[31mb\nc\u{202e}"), "a\\u{1b}[31mb\\nc\\u{202e}");
        assert_eq!(printable_lines("a\nb\r"), "a\nb\\r");
        assert_eq!(printable("plain é"), "plain é");
    }

    #[test]
    fn an_excerpt_is_one_line_of_bounded_width() {
        assert_eq!(excerpt("  a\n\n b\tc ", 10), "a b c");
        assert_eq!(excerpt("abcdef", 3), "abc…");
        assert_eq!(excerpt("abc", 3), "abc");
        assert_eq!(excerpt("日本語", 5), "日本…");
        assert_eq!(excerpt("日本語", 6), "日本語");
    }

    #[test]
    fn a_wide_character_takes_two_columns() {
        assert_eq!(padded("日本", 6), "日本  ");
        assert_eq!(padded("abc", 2), "abc");
        // An accent that stands on the letter before it takes none.
        assert_eq!(padded("e\u{301}", 3), "e\u{301}  ");
    }
}
