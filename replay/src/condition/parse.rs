//! Parser of conditions.

use milepost_codec::{Error, Result};
use serde_json::Value;

use super::{Condition, OPERATORS, Operator};
use crate::RunReducer;

/// Largest depth of nested parentheses and `not`.
const DEPTH_MAX: u32 = 64;

/// Parses a condition.
pub(super) fn parse(text: &str) -> Result<Condition> {
    let mut parser = Parser { text, at: 0 };
    let condition = parser.either(0)?;
    match parser.rest().is_empty() {
        true => Ok(condition),
        false => Err(parser.expected("`and`, `or` or the end")),
    }
}

/// Returns `true` if a pointer without quotes ends before this character.
pub(super) fn ends_pointer(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "()=!<>\"".contains(c)
}

struct Parser<'a> {
    text: &'a str,
    /// Position in bytes.
    at: usize,
}

impl<'a> Parser<'a> {
    /// Returns the rest of the text, without leading blanks.
    fn rest(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn expected(&mut self, what: &str) -> Error {
        let rest = self.rest();
        let found: String =
            rest.split_whitespace().next().unwrap_or_default().chars().take(20).collect();
        let found = match found.is_empty() {
            true => "the end".to_owned(),
            false => format!("`{found}`"),
        };
        self.error(&format!("expected {what}, found {found}"))
    }

    fn error(&self, why: &str) -> Error {
        let before = self.text.get(..self.at).unwrap_or_default();
        let at = before.chars().count() + 1;
        Error::invalid(format!("at character {at}: {why}"))
    }

    /// Consumes a word, if it comes next.
    fn word(&mut self, word: &str) -> bool {
        let behind = self.rest().strip_prefix(word);
        let whole = behind.is_some_and(|behind| {
            let next = behind.chars().next();
            next.is_none_or(|c| ends_pointer(c) || c == '/')
        });
        if whole {
            self.at += word.len();
        }
        whole
    }

    fn sign(&mut self, sign: &str) -> bool {
        let there = self.rest().starts_with(sign);
        if there {
            self.at += sign.len();
        }
        there
    }

    fn either(&mut self, depth: u32) -> Result<Condition> {
        let first = self.both(depth)?;
        let mut parts = Vec::new();
        while self.word("or") {
            parts.push(self.both(depth)?);
        }
        Ok(several(first, parts, Condition::Or))
    }

    fn both(&mut self, depth: u32) -> Result<Condition> {
        let first = self.one(depth)?;
        let mut parts = Vec::new();
        while self.word("and") {
            parts.push(self.one(depth)?);
        }
        Ok(several(first, parts, Condition::And))
    }

    fn one(&mut self, depth: u32) -> Result<Condition> {
        if depth > DEPTH_MAX {
            return Err(self.error(&format!("it nests deeper than {DEPTH_MAX}")));
        }
        if self.word("not") {
            let part = self.one(depth + 1)?;
            return Ok(Condition::Not(Box::new(part)));
        }
        if self.sign("(") {
            let inner = self.either(depth + 1)?;
            return match self.sign(")") {
                true => Ok(inner),
                false => Err(self.expected("`and`, `or` or `)`")),
            };
        }
        if self.word("exists") {
            return self.pointer("a pointer, as `/variables/best`").map(Condition::Exists);
        }
        let pointer = self.pointer("a pointer, `exists`, `not` or `(`")?;
        let operator = self.operator()?;
        Ok(Condition::Compare(pointer, operator, self.literal()?))
    }

    fn pointer(&mut self, expected: &str) -> Result<String> {
        let (rest, begin) = (self.rest(), self.at);
        let pointer = match rest.chars().next() {
            Some('"') => match self.json()? {
                Value::String(pointer) => pointer,
                _ => return Err(self.expected(expected)),
            },
            Some('/') => {
                let end = rest.find(ends_pointer).unwrap_or(rest.len());
                self.at += end;
                rest.get(..end).unwrap_or_default().to_owned()
            }
            _ => return Err(self.expected(expected)),
        };
        // A pointer to an unknown field is a mistake: it would never name a value.
        match pointer.is_empty() {
            true => {}
            false => {
                let known = RunReducer::kinds_for(&pointer);
                let end = std::mem::replace(&mut self.at, begin);
                known.map_err(|error| self.error(&error.to_string()))?;
                self.at = end;
            }
        }
        Ok(pointer)
    }

    fn operator(&mut self) -> Result<Operator> {
        for (sign, operator) in OPERATORS {
            if self.sign(sign) {
                return Ok(operator);
            }
        }
        Err(self.expected("one of == != < <= > >="))
    }

    fn literal(&mut self) -> Result<Value> {
        let rest = self.rest();
        if rest.starts_with(['"', '[', '{']) {
            return self.json();
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == ')' || c == '(');
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        match serde_json::from_str(word) {
            Ok(value) => {
                self.at += word.len();
                Ok(value)
            }
            Err(_) => {
                Err(self
                    .expected("a JSON value: a number, \"text\", true, false, null, [..] or {..}"))
            }
        }
    }

    /// Parses a JSON value, which determines its own end.
    fn json(&mut self) -> Result<Value> {
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            Some(Err(error)) => Err(self.error(&format!("this is no JSON: {error}"))),
            None => Err(self.expected("a JSON value")),
        }
    }
}

fn several(
    first: Condition,
    mut parts: Vec<Condition>,
    whole: impl Fn(Vec<Condition>) -> Condition,
) -> Condition {
    if parts.is_empty() {
        return first;
    }
    parts.insert(0, first);
    whole(parts)
}
