//! Search of secrets in a text, and in readings of it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use regex::{Regex, RegexBuilder};

use super::patterns::{block, patterns};
use super::tokens::TOKENS;
use super::views::View;

/// Fewest characters of a text in base64 or hexadecimal digits that is decoded.
const ENCODED_MIN: usize = 20;

/// Most bytes of the compiled expression of all tokens.
const TOKENS_BYTES: usize = 64 << 20;

/// Compiled patterns.
#[derive(Default)]
pub struct Search {
    /// The expressions of the caller.
    pub withhold: Vec<Regex>,
    built_in: Option<&'static BuiltIn>,
}

/// The built-in patterns, compiled once.
static BUILT_IN: OnceLock<BuiltIn> = OnceLock::new();

struct BuiltIn {
    patterns: Vec<(&'static str, Regex)>,
    block: Regex,
    /// Any token, and each of them.
    token: Regex,
    tokens: Vec<(&'static str, Regex)>,
    /// Any token in a text whose lines are joined: other words precede and follow it.
    wrapped: Regex,
}

/// A secret in a text.
#[derive(Debug)]
struct Find {
    range: Range<usize>,
    name: &'static str,
}

impl Search {
    /// Returns a search with the built-in patterns.
    pub fn built_in() -> Result<Self, regex::Error> {
        if BUILT_IN.get().is_none() {
            // Another thread may have set it.
            let _ = BUILT_IN.set(BuiltIn::compiled()?);
        }
        Ok(Self { withhold: Vec::new(), built_in: BUILT_IN.get() })
    }

    /// Returns a text with its secrets replaced. A brief replacement is never longer than the
    /// secret.
    pub fn redacted<'a>(&self, text: &'a str, brief: bool) -> Cow<'a, str> {
        let mut finds = self.finds(text);
        if finds.is_empty() {
            return Cow::Borrowed(text);
        }
        finds.sort_by_key(|find| (find.range.start, std::cmp::Reverse(find.range.end)));
        let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
        let mut finds = finds.into_iter().peekable();
        while let Some(Find { mut range, name }) = finds.next() {
            while let Some(next) = finds.next_if(|next| next.range.start < range.end) {
                range.end = range.end.max(next.range.end);
            }
            out.push_str(text.get(copied..range.start).unwrap_or_default());
            match brief {
                true => out.push('*'),
                false => out.push_str(&format!("[redacted:{name}]")),
            }
            copied = range.end;
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    fn finds(&self, text: &str) -> Vec<Find> {
        let mut finds = Vec::new();
        for pattern in &self.withhold {
            finds.extend(pattern.find_iter(text).map(|found| Find::of("withhold", found.range())));
        }
        if let Some(built_in) = &self.built_in {
            built_in.add(text, &mut finds);
        }
        finds.retain(|find| !find.range.is_empty());
        finds
    }
}

impl Find {
    fn of(name: &'static str, range: Range<usize>) -> Self {
        Self { range, name }
    }
}

impl BuiltIn {
    fn compiled() -> Result<Self, regex::Error> {
        let compiled = |(name, pattern): (&'static str, String)| Ok((name, Regex::new(&pattern)?));
        let any: Vec<String> = TOKENS.iter().map(|(_, form)| format!("(?:{form})")).collect();
        let any = any.join("|");
        let large = |form: &str| RegexBuilder::new(form).size_limit(TOKENS_BYTES).build();
        let wrapped = any.replace(r"(?:\b|_)", "").replace(r"\b", "");
        let tokens = TOKENS.iter().map(|(name, form)| (*name, (*form).to_owned()));
        Ok(Self {
            patterns: patterns().into_iter().map(compiled).collect::<Result<_, regex::Error>>()?,
            block: Regex::new(&block())?,
            token: large(&any)?,
            wrapped: large(&wrapped)?,
            tokens: tokens.map(compiled).collect::<Result<_, _>>()?,
        })
    }

    /// Adds the secrets of a text, and of each reading of it.
    fn add(&self, text: &str, finds: &mut Vec<Find>) {
        self.add_tokens(text, finds);
        self.add_pairs(text, finds);
        self.add_encoded(text, finds);
        let plain = View::plain(text);
        if let Some(plain) = &plain {
            self.add_view(plain, finds);
        }
        let readable = plain.as_ref().map_or(text, |plain| &plain.text);
        let back = |range: Range<usize>| match &plain {
            Some(plain) => plain.original(&range),
            None => range,
        };
        let mut within = Vec::new();
        if let Some(decoded) = View::decoded(readable) {
            self.add_view(&decoded, &mut within);
        }
        if let Some(joined) = View::joined(readable) {
            self.add_wrapped(readable, &joined, &mut within);
        }
        if let Some(unmarked) = View::unmarked(readable) {
            self.add_view(&unmarked, &mut within);
        }
        finds.extend(within.into_iter().map(|find| Find { range: back(find.range), ..find }));
    }

    fn add_view(&self, view: &View, finds: &mut Vec<Find>) {
        let mut within = Vec::new();
        self.add_tokens(&view.text, &mut within);
        self.add_pairs(&view.text, &mut within);
        self.add_encoded(&view.text, &mut within);
        let back = |find: Find| Find { range: view.original(&find.range), ..find };
        finds.extend(within.into_iter().map(back));
    }

    /// Adds tokens that are on several lines of a text. Words of lines that are joined may look
    /// like one, which has digits.
    fn add_wrapped(&self, text: &str, joined: &View, finds: &mut Vec<Find>) {
        let mut within = Vec::new();
        for found in self.wrapped.find_iter(&joined.text) {
            if found.as_str().bytes().any(|byte| byte.is_ascii_digit()) {
                within.push(Find::of("wrapped", found.range()));
            }
        }
        self.add_encoded(&joined.text, &mut within);
        for find in within {
            let range = joined.original(&find.range);
            if text.get(range.clone()).is_some_and(|found| found.contains('\n')) {
                finds.push(Find { range, ..find });
            }
        }
    }

    fn add_tokens(&self, text: &str, finds: &mut Vec<Find>) {
        for found in self.token.find_iter(text) {
            let is = |(_, form): &&(&str, Regex)| {
                form.find_at(text, found.start()).is_some_and(|own| own.start() == found.start())
            };
            let name = self.tokens.iter().find(is).map_or("token", |(name, _)| name);
            finds.push(Find::of(name, found.range()));
        }
    }

    fn add_pairs(&self, text: &str, finds: &mut Vec<Find>) {
        for (name, pattern) in &self.patterns {
            for found in pattern.captures_iter(text) {
                let secret = found.iter().skip(1).flatten().next().or_else(|| found.get(0));
                finds.extend(secret.map(|secret| Find::of(name, secret.range())));
            }
        }
        for found in self.block.captures_iter(text) {
            let indent = found.get(1).map_or(0, |indent| indent.len());
            let from = found.get(0).map_or(0, |all| all.end());
            let rest = text.get(from..).unwrap_or_default();
            finds.push(Find::of("pair", from..from + block_length(rest, indent)));
        }
    }

    /// Adds texts in base64 and in hexadecimal digits with a token or a pair in them.
    fn add_encoded(&self, text: &str, finds: &mut Vec<Find>) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
        let mut at = 0;
        while let Some(from) = text.get(at..).and_then(|rest| rest.find(is_part)) {
            let from = at + from;
            let rest = text.get(from..).unwrap_or_default();
            let run = rest.get(..rest.find(|c| !is_part(c)).unwrap_or(rest.len())).unwrap_or(rest);
            at = from + run.len();
            if run.len() < ENCODED_MIN {
                continue;
            }
            let has_secret = |bytes: Vec<u8>| {
                let Ok(text) = String::from_utf8(bytes) else {
                    return false;
                };
                let mut within = Vec::new();
                self.add_tokens(&text, &mut within);
                self.add_pairs(&text, &mut within);
                !within.is_empty()
            };
            // A run may end with a part of a group.
            let whole = run.get(..run.len() / 4 * 4).unwrap_or(run);
            let decoded = [
                BASE64_NOPAD.decode(run.as_bytes()),
                BASE64URL_NOPAD.decode(run.as_bytes()),
                BASE64_NOPAD.decode(whole.as_bytes()),
                HEXLOWER_PERMISSIVE.decode(run.as_bytes()),
            ];
            if decoded.into_iter().flatten().any(has_secret) {
                finds.push(Find::of("encoded", from..at));
            }
        }
    }
}

/// Returns the length of the lines that are blank, or indented deeper than a block's name.
fn block_length(text: &str, indent: usize) -> usize {
    let within = |line: &&str| {
        let plain = line.trim_start_matches([' ', '\t']);
        plain.trim_end().is_empty() || line.len() - plain.len() > indent
    };
    let length: usize = text.split_inclusive('\n').take_while(within).map(str::len).sum();
    text.get(..length).unwrap_or_default().trim_end().len()
}
