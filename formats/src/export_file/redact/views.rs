//! Readings of a text in which a secret shows that the text itself hides: without colours of a
//! terminal, with escapes decoded, with wrapped lines joined. Each knows its places in the text.

use std::ops::Range;

/// Most bytes of an escape sequence of a terminal.
const SEQUENCE_MAX: usize = 4096;

/// Length of the text that a reading replaces, and the replacing character.
type Replaced = (usize, Option<char>);

/// Reading of a text.
pub struct View {
    pub text: String,
    /// For each byte of the reading, and for its end: the place in the original.
    places: Vec<usize>,
}

impl View {
    /// Returns the reading without sequences of a terminal, marks without a width, and breaks of
    /// quoted-printable lines.
    pub fn plain(text: &str) -> Option<Self> {
        let hides = |c: char| c == '\u{1b}' || c == '\u{9b}' || is_without_width(c);
        if !text.contains(hides) {
            return None;
        }
        Some(Self::of(text, &|rest| {
            let first = rest.chars().next()?;
            match first {
                '\u{1b}' | '\u{9b}' => Some((sequence(rest), None)),
                _ if is_without_width(first) => Some((first.len_utf8(), None)),
                _ => None,
            }
        }))
    }

    /// Returns the reading with `%41`, `\u0041`, `\x41` and `&#65;` as the characters they mean.
    pub fn decoded(text: &str) -> Option<Self> {
        if !["%", "\\u", "\\x", "\\U", "&#", "&quot", "&apos"]
            .iter()
            .any(|mark| text.contains(mark))
        {
            return None;
        }
        Some(Self::of(text, &|rest| {
            let hex = |from: usize, digits: usize| {
                let digits = rest.get(from..from + digits)?;
                let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                u32::from_str_radix(digits, 16).ok().filter(|_| plain)
            };
            let (length, code) = match rest.as_bytes() {
                // A percent sign may itself be encoded, again and again.
                [b'%', b'2', b'5', ..] => {
                    let mut from = 3;
                    while rest.get(from..).is_some_and(|more| more.starts_with("25")) {
                        from += 2;
                    }
                    hex(from, 2).map_or((3, u32::from(b'%')), |code| (from + 2, code))
                }
                [b'%', ..] => (3, hex(1, 2)?),
                [b'\\', b'u', b'{', ..] => {
                    let end = rest.find('}').filter(|end| *end <= 9)?;
                    (end + 1, hex(3, end - 3)?)
                }
                [b'\\', b'u', ..] => (6, hex(2, 4)?),
                [b'\\', b'U', ..] => (10, hex(2, 8)?),
                [b'\\', b'x', ..] => (4, hex(2, 2)?),
                [b'&', b'#', b'x' | b'X', ..] => {
                    let end = rest.find(';').filter(|end| *end <= 9)?;
                    (end + 1, hex(3, end - 3)?)
                }
                [b'&', b'#', ..] => {
                    let end = rest.find(';').filter(|end| *end <= 9)?;
                    (end + 1, rest.get(2..end)?.parse().ok()?)
                }
                _ if rest.starts_with("&quot;") => (6, u32::from(b'"')),
                _ if rest.starts_with("&apos;") => (6, u32::from(b'\'')),
                _ => return None,
            };
            // Others are left: the patterns are of ASCII.
            let code = u8::try_from(code).ok().filter(u8::is_ascii)?;
            Some((length, Some(char::from(code))))
        }))
    }

    /// Returns the reading with each line joined to the next one, without indentation, marks of a
    /// quotation, borders of a table and the backslash that continues a line.
    pub fn joined(text: &str) -> Option<Self> {
        if !text.contains('\n') {
            return None;
        }
        Some(Self::of(text, &|rest| {
            let blank =
                |c: char| matches!(c, ' ' | '\t' | '\r' | '>' | '|' | '│' | '+' | '"' | '\'');
            let behind = rest.trim_start_matches([' ', '\t', '│', '|', '"', '\'']);
            let behind = behind.strip_prefix(['\\', '=']).unwrap_or(behind);
            let behind = behind.trim_start_matches('\r').strip_prefix('\n')?;
            let behind = behind.trim_start_matches(blank);
            Some((rest.len() - behind.len(), None))
        }))
    }

    /// Returns the reading without what tools put before each line: its number, or the sign of a
    /// difference.
    pub fn unmarked(text: &str) -> Option<Self> {
        let lines = || text.split_inclusive('\n');
        if lines().filter(|line| mark_of(line) > 0).take(2).count() < 2 {
            return None;
        }
        let (mut view, mut at) = (Self { text: String::new(), places: Vec::new() }, 0);
        for line in lines() {
            let mark = mark_of(line);
            let kept = line.get(mark..).unwrap_or_default();
            view.text.push_str(kept);
            view.places.extend(at + mark..at + line.len());
            at += line.len();
        }
        view.places.push(text.len());
        Some(view)
    }

    /// Reads a text. `read` returns the length of the replaced part, and the replacement.
    fn of(text: &str, read: &dyn Fn(&str) -> Option<Replaced>) -> Self {
        let mut view = Self { text: String::new(), places: Vec::new() };
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let first = rest.chars().next().unwrap_or_default();
            let may_be = !first.is_ascii_alphanumeric();
            let replaced = if may_be { read(rest) } else { None };
            let (length, kept) = replaced.unwrap_or((first.len_utf8(), Some(first)));
            if let Some(kept) = kept {
                view.text.push(kept);
                view.places.resize(view.text.len(), at);
            }
            at += length.max(1);
        }
        view.places.push(text.len());
        view
    }

    /// Returns the range of the original that a range of the reading comes from.
    pub fn original(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| self.places.get(at).copied().unwrap_or_default();
        // A removal after the last character is not part of it.
        let last = place(range.end.saturating_sub(1));
        place(range.start)..place(range.end).max(last)
    }
}

/// Returns the length of the mark before a line: `  12\t`, `12→`, `+`, `-`.
fn mark_of(line: &str) -> usize {
    let plain = line.trim_start_matches(' ');
    let rest = plain.trim_start_matches(|c: char| c.is_ascii_digit());
    let behind = match rest.len() < plain.len() {
        true => rest.strip_prefix(['\t', '→', '|', '│']),
        false => line.strip_prefix(['+', '-']),
    };
    behind.map_or(0, |behind| line.len() - behind.len())
}

fn is_without_width(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{8}' | '\0')
}

/// Returns the length of the sequence of a terminal that begins a text.
fn sequence(text: &str) -> usize {
    let mut letters = text.char_indices().take(SEQUENCE_MAX);
    let begin = letters.next().map(|(_, first)| first);
    let kind = match begin {
        Some('\u{9b}') => Some((0, '[')),
        _ => letters.next(),
    };
    let end_of = |found: Option<(usize, char)>| {
        found.map_or(text.len().min(1).max(begin.map_or(1, char::len_utf8)), |(at, c)| {
            at + c.len_utf8()
        })
    };
    match kind {
        Some((_, '[')) => end_of(letters.find(|(_, c)| ('\u{40}'..='\u{7e}').contains(c))),
        Some((_, ']' | 'P' | 'X' | '^' | '_')) => {
            let end = letters.find(|(_, c)| matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}'));
            match end {
                Some((at, '\u{1b}'))
                    if text.get(at + 1..).is_some_and(|rest| rest.starts_with('\\')) =>
                {
                    at + 2
                }
                Some((at, '\u{1b}')) => at,
                other => end_of(other),
            }
        }
        Some((_, '(' | ')' | '#' | '%' | ' ')) => end_of(letters.next()),
        other => end_of(other),
    }
}
