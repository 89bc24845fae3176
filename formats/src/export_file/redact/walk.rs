//! Replaces strings of a JSON text, each by its value and its name. Everything else is copied
//! unchanged. The name of a string:
//!
//! ```text
//! {"name": "text"}                                  the name of the field
//! {"op": "add", "path": "/a/name", "value": ".."}   the last part of the path, as in a JSON patch
//! {"name": "name", "value": ".."}, {"key": ..}      that name, as in environments and headers
//! {"name": {"other": "text"}}                       the outer name, if the caller says so
//! ["--name", "text"]                                the option before it, as in arguments
//! ```

use std::collections::HashSet;

/// Replacement of strings.
pub trait Strings {
    /// Returns the replacement of a string literal, or `None` if it stays. `name` is its name.
    fn string(&self, literal: &str, name: Option<&str>) -> Option<String>;

    /// Returns `true` if a name holds for everything within its value.
    fn covers(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Returns the replacement of a number, or `None` if it stays.
    fn number(&self, number: &str, name: Option<&str>) -> Option<String> {
        let _ = (number, name);
        None
    }
}

/// A position in a JSON text, and the output so far.
pub struct Walk<'a> {
    strings: &'a dyn Strings,
    json: &'a str,
    at: usize,
    out: String,
    /// True if duplicate names of an object get numbers.
    numbers: bool,
}

/// A position in the input and in the output.
#[derive(Clone, Copy)]
struct Spot {
    at: usize,
    out: usize,
}

/// A field `value` of an object, and its name.
#[derive(Default)]
struct Member {
    /// The name of the value.
    of: Option<String>,
    /// Begin and end of the value.
    value: Option<(Spot, Spot)>,
}

impl<'a> Walk<'a> {
    /// Returns the JSON text with its strings replaced.
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
            Some(b'{') => self.object(name.filter(|name| self.strings.covers(name))),
            Some(b'[') => self.list(name),
            _ => {
                let rest = self.rest();
                let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
                let scalar = rest.get(..end).unwrap_or_default().trim_end();
                let is_number = scalar.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                match self.strings.number(scalar, name).filter(|_| is_number) {
                    Some(other) => {
                        self.out.push_str(&other);
                        self.at += scalar.len();
                    }
                    None => self.copy_to(self.at + end),
                }
            }
        }
    }

    /// Copies a list, whose items have its name.
    fn list(&mut self, name: Option<&str>) {
        self.copy(1);
        let mut option = None;
        loop {
            self.spaces();
            match self.next() {
                None => return,
                Some(b']') => return self.copy(1),
                Some(b',' | b'}' | b':') => self.copy(1),
                Some(_) => {
                    let from = self.at;
                    let own = option.take();
                    self.value(own.as_deref().or(name));
                    let item = self.json.get(from..self.at).unwrap_or_default();
                    if item.starts_with("\"--") {
                        option = text_of(item).strip_prefix("--").map(str::to_owned);
                    }
                }
            }
        }
    }

    /// Copies an object. `outer` is a name that holds for its fields.
    fn object(&mut self, outer: Option<&str>) {
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
                Some(b'"') => changed |= self.member(&mut names, &mut member, outer),
                Some(c) => self.copy(char_len(c)),
            }
        }
        self.name_value(member);
        if changed && !self.numbers {
            // Two of its names may be equal after the replacement.
            self.back_to(begin);
            self.numbers = true;
            self.object(outer);
            self.numbers = false;
        }
    }

    /// Copies a field of an object. Returns `true` if its name was replaced.
    fn member(
        &mut self,
        names: &mut HashSet<String>,
        member: &mut Member,
        outer: Option<&str>,
    ) -> bool {
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
        self.value(Some(outer.unwrap_or(&name)));
        match name.as_str() {
            "value" => member.value = Some((from, self.spot())),
            "path" | "name" | "key" => {
                let value = self.json.get(from.at..self.at).unwrap_or_default();
                if value.starts_with('"') {
                    member.of = Some(last_part(&text_of(value)));
                }
            }
            _ => {}
        }
        changed
    }

    /// Replaces a value again, by the name that its object gives it.
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

    /// Reads the string that begins here.
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

/// Returns the length of a UTF-8 character by its first byte.
fn char_len(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// Returns a name that is not in `names`, with a number added if necessary.
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

/// Returns the last part of a JSON pointer. Any other text is a name itself.
fn last_part(text: &str) -> String {
    match text.strip_prefix('/') {
        Some(pointer) => {
            let last = pointer.rsplit('/').next().unwrap_or_default();
            last.replace("~1", "/").replace("~0", "~")
        }
        None => text.to_owned(),
    }
}

/// Returns the end of the JSON string that begins the text.
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

/// Returns the text of a JSON string literal. An unpaired surrogate becomes U+FFFD, which no secret
/// contains.
pub fn text_of(literal: &str) -> String {
    let inner = literal.strip_prefix('"').unwrap_or(literal);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    if let Ok(text) = serde_json::from_str(literal) {
        return text;
    }
    // Replaces unpaired surrogates, so that the literal is valid JSON.
    let mut repaired = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        repaired.push_str(before);
        let (escape, behind) = match unit(from) {
            Some(0xd800..=0xdbff) => match from.get(6..).and_then(unit) {
                Some(0xdc00..=0xdfff) => from.split_at(12),
                _ => ("\\ufffd", from.get(6..).unwrap_or_default()),
            },
            Some(0xdc00..=0xdfff) => ("\\ufffd", from.get(6..).unwrap_or_default()),
            Some(_) => from.split_at(6),
            None => from.split_at(from.len().min(2)),
        };
        repaired.push_str(escape);
        rest = behind;
    }
    repaired.push_str(rest);
    serde_json::from_str(&repaired).unwrap_or_else(|_| inner.to_owned())
}

/// Returns the code unit of a `\uXXXX` escape that begins the text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}
