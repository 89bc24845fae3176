//! Text made safe for a terminal. A store or a file may contain any characters; control characters
//! are escaped before they reach a terminal.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the number of terminal columns that a text takes. A wide character takes two.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Returns the text, padded with spaces to a number of columns.
pub fn padded(text: &str, columns: usize) -> String {
    let spaces = columns.saturating_sub(width(text));
    format!("{text}{:spaces$}", "")
}

/// Returns the text on one line, control characters escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    clean(text, |c| c.is_control())
}

/// Returns the text with its line ends, other control characters escaped.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    clean(text, |c| c.is_control() && c != '\n')
}

/// Returns `true` if a character changes the direction of writing, so that a line may read as a
/// different one.
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

/// Glyphs of this program, and what a terminal without UTF-8 shows in their place.
const GLYPHS: [(char, char); 12] = [
    ('…', '~'),
    ('✗', 'x'),
    ('✓', '+'),
    ('◆', '*'),
    ('○', 'o'),
    ('·', '.'),
    ('─', '-'),
    ('│', '|'),
    ('├', '|'),
    ('└', '`'),
    ('≈', '~'),
    ('–', '-'),
];

/// Returns the text with glyphs of this program as ASCII.
pub(super) fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let plain = |c| GLYPHS.iter().find(|(glyph, _)| *glyph == c).map_or(c, |(_, plain)| *plain);
    Cow::Owned(text.chars().map(plain).collect())
}

/// Returns `true` if the environment names a locale, and not one of UTF-8.
pub(super) fn is_ascii_locale(of: impl Fn(&str) -> Option<String>) -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(of);
    let named = named.map(|name| name.to_ascii_lowercase()).find(|name| !name.is_empty());
    named.is_some_and(|name| !name.contains("utf-8") && !name.contains("utf8"))
}

/// Returns the text on one line, cut to `max` columns and `…` if it is longer.
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

/// Returns the text in lines of at most `columns`, broken between words. The first line has
/// `begin` columns before it, the others begin with `indent` spaces. A command in backquotes stays
/// on one line, so that it works when it is pasted: the terminal breaks a long one.
pub fn folded(text: &str, begin: usize, indent: usize, columns: usize) -> String {
    let (mut lines, mut taken, mut is_quoted) = (String::new(), begin, false);
    // Words with the spaces of a command between them.
    let parts = text.split_inclusive([' ', '`']).fold(vec![String::new()], |mut parts, part| {
        if let Some(last) = parts.last_mut() {
            last.push_str(part);
        }
        is_quoted ^= part.ends_with('`');
        if part.ends_with(' ') && !is_quoted {
            parts.push(String::new());
        }
        parts
    });
    for part in parts {
        let word = width(part.trim_end());
        if taken + word > columns && taken > indent {
            lines.truncate(lines.trim_end().len());
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            taken = indent;
        }
        lines.push_str(&part);
        taken += width(&part);
    }
    lines
}

/// Returns the text on one line of exactly some columns: cut with `…`, or padded.
pub fn fitted(text: &str, columns: usize) -> String {
    let text = printable(text);
    if width(&text) <= columns {
        return padded(&text, columns);
    }
    let (mut line, mut taken) = (String::new(), 1);
    for c in text.chars() {
        taken += c.width().unwrap_or(0);
        if taken > columns {
            break;
        }
        line.push(c);
    }
    if columns > 0 {
        line.push('…');
    }
    padded(&line, columns)
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
    fn a_sentence_is_broken_between_words_and_a_command_is_not() {
        let text = "it is damaged: `milepost --store a repair` mends it, 日本語 too";
        assert_eq!(folded(text, 0, 0, usize::MAX), text);
        let lines = folded(text, 10, 2, 28);
        assert_eq!(lines, "it is damaged:\n  `milepost --store a repair`\n  mends it, 日本語 too");
        assert_eq!(folded("abcdef gh", 4, 4, 4), "abcdef\n    gh");
        assert_eq!(folded("one `quote is open", 0, 1, 8), "one\n `quote is open");
        assert_eq!(folded("", 3, 3, 10), "");
    }

    #[test]
    fn a_wide_character_takes_two_columns() {
        assert_eq!(padded("日本", 6), "日本  ");
        assert_eq!(padded("abc", 2), "abc");
        // A combining accent takes no column.
        assert_eq!(padded("e\u{301}", 3), "e\u{301}  ");
    }

    #[test]
    fn glyphs_are_ascii_where_the_locale_is_not_utf_8() {
        let of = |all: &'static str, lang: &'static str| {
            is_ascii_locale(move |name| match name {
                "LC_ALL" => Some(all.to_owned()),
                "LANG" => Some(lang.to_owned()),
                _ => None,
            })
        };
        assert!(of("", "C") && of("POSIX", "en_US.UTF-8") && of("", "de_DE.ISO-8859-1"));
        assert!(!of("", "") && !of("C.UTF-8", "C") && !of("", "en_US.utf8"));
        assert_eq!(ascii("├─ ◆ 3 ✗ é…"), "|- * 3 x é~");
    }
}
