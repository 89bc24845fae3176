//! JSON whose strings are looked at one by one, each with the name that says what it is. All else
//! stays word for word.
//!
//! ```text
//! {"name": "text"}                                  the name of the field
//! {"op": "add", "path": "/a/name", "value": ".."}   the last part of the path, also in the patches of a log
//! {"name": "name", "value": ".."}, {"key": ..}      as environments and headers are written down
//! ```

use std::collections::HashSet;

/// What becomes of a string.
pub trait Strings {
    /// A string with its quotes; `name` says what it is. Nothing where it stays.
    fn string(&self, literal: &str, name: Option<&str>) -> Option<String>;
}

/// What is left of a JSON text, and what has become of it so far.
pub struct Walk<'a> {
    strings: &'a dyn Strings,
    json: &'a str,
    at: usize,
    out: String,
    /// The names of an object have numbers where two have become one.
    numbers: bool,
}

/// Where a value stands, before and after.
#[derive(Clone, Copy)]
struct Spot {
    at: usize,
    out: usize,
}

/// What an object says of its field `value`.
#[derive(Default)]
struct Member {
    /// What it is the value of.
    of: Option<String>,
    /// Where it stands: from, to.
    value: Option<(Spot, Spot)>,
}

impl<'a> Walk<'a> {
    /// JSON with other strings.
    pub fn json(strings: &'a dyn Strings, json: &'a str) -> String {
        let mut walk =
            Self { strings, json, at: 0, out: String::with_capacity(json.len()), numbers: false };
        walk.value(None);
        walk.copy_to(json.len());
        walk.out
    }

    fn value(&mut self, name: Option<&str>) {
        self.spaces();
        match self.next() {
            Some(b'"') => {
                let literal = self.literal();
                let other = self.strings.string(literal, name);
                self.out.push_str(other.as_deref().unwrap_or(literal));
            }
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            _ => {
                let rest = self.rest();
                let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
                self.copy_to(self.at + end);
            }
        }
    }

    fn list(&mut self) {
        self.copy(1);
        loop {
            self.spaces();
            match self.next() {
                None => return,
                Some(b']') => return self.copy(1),
                Some(b',' | b'}' | b':') => self.copy(1),
                Some(_) => self.value(None),
            }
        }
    }

    fn object(&mut self) {
        let begin = self.spot();
        let mut names = HashSet::new();
        let (mut changed, mut member) = (false, Member::default());
        self.copy(1);
        loop {
            self.spaces();
            match self.next() {
                None => break,
                Some(b'}') => {
                    self.copy(1);
                    break;
                }
                Some(b'"') => changed |= self.member(&mut names, &mut member),
                Some(c) => self.copy(char_len(c)),
            }
        }
        self.name_value(member);
        if changed && !self.numbers {
            // Two of its names may be one now.
            self.back_to(begin);
            self.numbers = true;
            self.object();
            self.numbers = false;
        }
    }

    /// A field of an object. Says whether its name is another now.
    fn member(&mut self, names: &mut HashSet<String>, member: &mut Member) -> bool {
        let literal = self.literal();
        let other = self.strings.string(literal, None);
        let changed = other.is_some();
        let mut written = other.unwrap_or_else(|| literal.to_owned());
        if self.numbers {
            written = distinct(names, written);
        }
        self.out.push_str(&written);
        self.spaces();
        if self.next() != Some(b':') {
            return changed;
        }
        self.copy(1);
        self.spaces();
        let name = text_of(literal);
        let from = self.spot();
        self.value(Some(&name));
        match name.as_str() {
            "value" => member.value = Some((from, self.spot())),
            "path" | "name" | "key" => {
                let said = self.json.get(from.at..self.at).unwrap_or_default();
                if said.starts_with('"') {
                    member.of = Some(last_part(&text_of(said)));
                }
            }
            _ => {}
        }
        changed
    }

    /// Looks at a value again, with the name that its object gives it.
    fn name_value(&mut self, member: Member) {
        let (Some(of), Some((from, to))) = (member.of, member.value) else {
            return;
        };
        let Some(literal) = self.json.get(from.at..to.at) else {
            return;
        };
        if literal.starts_with('"')
            && let Some(other) = self.strings.string(literal, Some(&of))
        {
            self.out.replace_range(from.out..to.out, &other);
        }
    }

    fn rest(&self) -> &'a str {
        self.json.get(self.at..).unwrap_or_default()
    }

    fn next(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }

    fn spot(&self) -> Spot {
        Spot { at: self.at, out: self.out.len() }
    }

    fn back_to(&mut self, spot: Spot) {
        self.at = spot.at;
        self.out.truncate(spot.out);
    }

    /// Takes the string that begins here.
    fn literal(&mut self) -> &'a str {
        let rest = self.rest();
        let (literal, _) = rest.split_at(end_of_string(rest));
        self.at += literal.len();
        literal
    }

    fn spaces(&mut self) {
        let rest = self.rest();
        self.copy(rest.len() - rest.trim_start().len());
    }

    fn copy(&mut self, bytes: usize) {
        self.copy_to(self.at + bytes);
    }

    fn copy_to(&mut self, end: usize) {
        let end = end.min(self.json.len());
        self.out.push_str(self.json.get(self.at..end).unwrap_or_default());
        self.at = end;
    }
}

/// The bytes of a character that begins with one.
fn char_len(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// A name that is not yet there, with a number where it is.
fn distinct(names: &mut HashSet<String>, written: String) -> String {
    if names.insert(written.clone()) {
        return written;
    }
    let bare = written.strip_suffix('"').unwrap_or(&written);
    let mut number = 2_u64;
    loop {
        let numbered = format!("{bare}-{number}\"");
        if names.insert(numbered.clone()) {
            return numbered;
        }
        number += 1;
    }
}

/// What a pointer of JSON names; any other text is a name itself.
fn last_part(text: &str) -> String {
    match text.strip_prefix('/') {
        Some(pointer) => {
            let last = pointer.rsplit('/').next().unwrap_or_default();
            last.replace("~1", "/").replace("~0", "~")
        }
        None => text.to_owned(),
    }
}

/// Where a string of JSON ends that begins here.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The text of a string of JSON. Half a surrogate pair, which has none, is a mark that no secret
/// has.
pub fn text_of(literal: &str) -> String {
    let inner = literal.strip_prefix('"').unwrap_or(literal);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    if let Ok(text) = serde_json::from_str(literal) {
        return text;
    }
    // So that all halves are whole: one alone is replaced, and what is read then is JSON.
    let mut whole = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        whole.push_str(before);
        let (escape, behind) = match unit(from) {
            Some(0xd800..=0xdbff) => match from.get(6..).and_then(unit) {
                Some(0xdc00..=0xdfff) => from.split_at(12),
                _ => ("\\ufffd", from.get(6..).unwrap_or_default()),
            },
            Some(0xdc00..=0xdfff) => ("\\ufffd", from.get(6..).unwrap_or_default()),
            Some(_) => from.split_at(6),
            None => from.split_at(from.len().min(2)),
        };
        whole.push_str(escape);
        rest = behind;
    }
    whole.push_str(rest);
    serde_json::from_str(&whole).unwrap_or_else(|_| inner.to_owned())
}

/// The number of an escape `\uXXXX` that begins here.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}
