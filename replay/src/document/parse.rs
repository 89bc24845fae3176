//! Parser of JSON text into nodes. The text was validated when its [`milepost_codec::Json`] was
//! created; the parser only checks again what limits and indexing rely on.

use std::collections::BTreeMap;

use milepost_codec::{Error, JSON_DEPTH_MAX, Result};

use super::{
    DOCUMENT_WEIGHT_MAX, NODE_WEIGHT, Node, OBJECT_WEIGHT, key_weight, too_deep, too_heavy,
};

/// The most levels. A value can be in an event's JSON form, a few levels deeper than alone.
const DEPTH_MAX: u32 = JSON_DEPTH_MAX + 8;

pub(super) fn parse(text: &str) -> Result<Node> {
    let mut parser = Parser { text, at: 0, weight: 0 };
    let node = parser.value(0)?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.unexpected()),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    weight: u64,
}

impl<'a> Parser<'a> {
    /// Skips white space and returns the next byte.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let spaces = rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at = self.at.saturating_add(spaces);
        rest.get(spaces).copied()
    }

    /// Consumes `byte` if it is next.
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> Error {
        Error::invalid(format!("not JSON at byte {}", self.at))
    }

    fn weigh(&mut self, weight: u64) -> Result<()> {
        self.weight = self.weight.saturating_add(weight);
        if self.weight > DOCUMENT_WEIGHT_MAX { Err(too_heavy()) } else { Ok(()) }
    }

    fn value(&mut self, depth: u32) -> Result<Node> {
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        self.weigh(NODE_WEIGHT)?;
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string()?;
                self.weigh(text.len() as u64)?;
                Ok(Node::String(text))
            }
            Some(_) => self.word(),
            None => Err(self.unexpected()),
        }
    }

    fn object(&mut self, depth: u32) -> Result<Node> {
        self.weigh(OBJECT_WEIGHT - NODE_WEIGHT)?;
        self.expect(b'{')?;
        let mut fields = BTreeMap::new();
        if self.eat(b'}') {
            return Ok(Node::Object(fields));
        }
        loop {
            self.peek();
            let key = self.string()?;
            self.weigh(key_weight(&key))?;
            self.expect(b':')?;
            fields.insert(key, self.value(depth + 1)?);
            if self.eat(b'}') {
                return Ok(Node::Object(fields));
            }
            self.expect(b',')?;
        }
    }

    fn array(&mut self, depth: u32) -> Result<Node> {
        self.expect(b'[')?;
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(Node::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.eat(b']') {
                return Ok(Node::Array(items));
            }
            self.expect(b',')?;
        }
    }

    /// Parses `null`, `true`, `false` or a number.
    fn word(&mut self) -> Result<Node> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        let len = rest.bytes().take_while(is_word).count();
        let word = rest.get(..len).unwrap_or_default();
        let node = match word {
            "null" => Node::Null,
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            "" => return Err(self.unexpected()),
            number => Node::Number(number.to_owned()),
        };
        if let Node::Number(number) = &node {
            self.weigh(number.len() as u64)?;
        }
        self.at = self.at.saturating_add(len);
        Ok(node)
    }

    fn string(&mut self) -> Result<String> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let rest: &'a str = self.text.get(self.at..).unwrap_or_default();
            let plain = rest.bytes().take_while(|b| !matches!(b, b'"' | b'\\')).count();
            out.push_str(rest.get(..plain).unwrap_or_default());
            self.at = self.at.saturating_add(plain).saturating_add(1);
            match rest.as_bytes().get(plain) {
                Some(b'"') => return Ok(out),
                Some(_) => out.push(self.escape()?),
                None => return Err(self.unexpected()),
            }
        }
    }

    /// Parses the character after a backslash.
    fn escape(&mut self) -> Result<char> {
        let letter = self.text.as_bytes().get(self.at).copied();
        self.at = self.at.saturating_add(1);
        Ok(match letter {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => self.unicode()?,
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            _ => return Err(self.unexpected()),
        })
    }

    fn unicode(&mut self) -> Result<char> {
        let high = self.hex4().ok_or_else(|| self.unexpected())?;
        self.at = self.at.saturating_add(4);
        if !(0xD800..0xDC00).contains(&high) {
            return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let before = self.at;
        if self.text.as_bytes().get(self.at..).unwrap_or_default().starts_with(b"\\u") {
            self.at = self.at.saturating_add(2);
            if let Some(low @ 0xDC00..=0xDFFF) = self.hex4() {
                self.at = self.at.saturating_add(4);
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        self.at = before;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at.checked_add(4)?)?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    }
}
