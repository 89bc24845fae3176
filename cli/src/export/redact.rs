//! Secrets out of texts, by the patterns of `docs/EXPORT.md`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use data_encoding::BASE64;
use milepost::CheckpointId;
use regex::Regex;

use super::text::Redact;

/// What is looked for, and what stands instead of it. A first group stays: it says what the secret was for.
type Pattern = (&'static str, &'static str);

const PATTERNS: [Pattern; 12] = [
    (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
        "[redacted:private-key]",
    ),
    (r"\bsk-[A-Za-z0-9_-]{16,}", "[redacted:api-key]"),
    (
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        "[redacted:github]",
    ),
    (r"\bglpat-[A-Za-z0-9_-]{16,}", "[redacted:gitlab]"),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "[redacted:aws]"),
    (r"\bxox[abeprs]-[A-Za-z0-9-]{10,}", "[redacted:slack]"),
    (r"\bAIza[0-9A-Za-z_-]{35}", "[redacted:google]"),
    (
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+",
        "[redacted:jwt]",
    ),
    (
        r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}",
        "${1}[redacted:bearer]",
    ),
    (
        r#"(?i)(\bauthorization["']?\s*[:=]\s*["']?basic\s+)[A-Za-z0-9+/=]+"#,
        "${1}[redacted:basic]",
    ),
    (
        r"([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+@",
        "${1}[redacted:url]@",
    ),
    (
        r#"(?i)((?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s"',;&]+)"#,
        "${1}[redacted:pair]",
    ),
];

/// What a field of an object ends with whose text is a secret; `-` and `_` do not count.
const NAMES: [&str; 9] = [
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
];

/// The patterns, ready.
pub struct Patterns {
    patterns: Vec<(Regex, &'static str)>,
    /// What other ids of checkpoints follow from.
    secret: [u8; 32],
    /// Checkpoints that have other ids.
    renamed: RefCell<HashMap<String, CheckpointId>>,
}

impl Patterns {
    pub fn new(secret: [u8; 32]) -> Result<Self, regex::Error> {
        let ready = |(pattern, instead)| Ok((Regex::new(pattern)?, instead));
        let patterns = PATTERNS.into_iter().map(ready);
        Ok(Self {
            patterns: patterns.collect::<Result<_, regex::Error>>()?,
            secret,
            renamed: RefCell::default(),
        })
    }

    fn redacted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for (pattern, instead) in &self.patterns {
            if let Cow::Owned(replaced) = pattern.replace_all(&text, *instead) {
                text = Cow::Owned(replaced);
            }
        }
        text
    }

    /// A string of JSON, with its quotes; `name` is the field that it is in.
    fn string(&self, literal: &str, name: Option<&str>) -> String {
        // Half a surrogate pair has no text: then it is looked at as it is written.
        let Ok(text) = serde_json::from_str::<String>(literal) else {
            return self.redacted(literal).into_owned();
        };
        if name.is_some_and(is_secret) && !text.is_empty() {
            return "\"[redacted:field]\"".to_owned();
        }
        if let Some(id) = self.renamed.borrow().get(&text) {
            return format!("\"{id}\"");
        }
        if name == Some("base64") && self.is_secret_in(&text) {
            return format!("\"{}\"", BASE64.encode(b"[redacted:bytes]"));
        }
        match self.redacted(&text) {
            Cow::Borrowed(_) => literal.to_owned(),
            Cow::Owned(text) => serde_json::Value::from(text).to_string(),
        }
    }

    fn is_secret_in(&self, base64: &str) -> bool {
        let bytes = BASE64.decode(base64.as_bytes()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        matches!(self.redacted(&text), Cow::Owned(_))
    }
}

impl Redact for Patterns {
    fn text(&self, text: &str) -> String {
        self.redacted(text).into_owned()
    }

    fn json(&self, json: &str) -> String {
        let mut out = String::with_capacity(json.len());
        let (mut rest, mut name) = (json, None::<String>);
        while let Some(start) = rest.find('"') {
            let (before, from) = rest.split_at(start);
            out.push_str(before);
            let (literal, behind) = from.split_at(end_of_string(from));
            let is_name = behind.trim_start().starts_with(':');
            // A list or an object is not a text, and its strings are in other fields.
            let between = before.trim();
            let field = name.take().filter(|_| between == ":");
            match is_name {
                true => {
                    out.push_str(&self.string(literal, None));
                    name = serde_json::from_str(literal).ok();
                }
                false => out.push_str(&self.string(literal, field.as_deref())),
            }
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    fn checkpoint(&self, id: CheckpointId) -> CheckpointId {
        let other = blake3::keyed_hash(&self.secret, &id.0);
        let other = CheckpointId(*other.as_bytes());
        self.renamed.borrow_mut().insert(id.to_string(), other);
        other
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

/// Whether the text of a field of this name is a secret.
fn is_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| !matches!(c, '-' | '_')).collect();
    let plain = plain.to_ascii_lowercase();
    NAMES.iter().any(|end| plain.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(json: &str) -> String {
        Patterns::new([7; 32]).unwrap().json(json)
    }

    /// Secrets of each pattern, by the name that stands instead of them.
    fn secrets() -> Vec<(&'static str, String)> {
        // Put together here, so that this file has none that somebody could find.
        let long = "aB3".repeat(12);
        let jwt = format!("eyJ{long}.eyJ{long}.{long}");
        vec![
            ("api-key", format!("sk-proj-{long}")),
            ("github", format!("ghp_{long}")),
            ("github", format!("github_pat_{long}")),
            ("gitlab", format!("glpat-{long}")),
            ("aws", format!("AKIA{}", "A1B2C3D4E5F6G7H8")),
            ("slack", format!("xoxb-123-{long}")),
            ("google", format!("AIza{}", &long[..35])),
            ("jwt", jwt),
        ]
    }

    #[test]
    fn each_pattern_is_found_wherever_it_stands() {
        for (name, secret) in secrets() {
            let found = redacted(&format!(r#"{{"a":["it is {secret}, you know"]}}"#));
            let expected = format!(r#"{{"a":["it is [redacted:{name}], you know"]}}"#);
            assert_eq!(found, expected);
            assert!(!redacted(&format!(r#"{{"{secret}":1}}"#)).contains(&secret));
        }
    }

    #[test]
    fn what_a_secret_was_for_stays() {
        for (text, expected) in [
            ("Bearer abcdefgh1234", "Bearer [redacted:bearer]"),
            (
                "Authorization: Basic YTpi",
                "Authorization: Basic [redacted:basic]",
            ),
            (
                "https://ana:hunter2@host/",
                "https://ana:[redacted:url]@host/",
            ),
            ("password=hunter2&x=1", "password=[redacted:pair]&x=1"),
            ("DB_PASSWORD='a b', y", "DB_PASSWORD=[redacted:pair], y"),
            ("api-key: 1234", "api-key: [redacted:pair]"),
        ] {
            assert_eq!(Patterns::new([7; 32]).unwrap().text(text), expected);
        }
        let escaped = redacted(r#"{"log":"{\"password\": \"hunter 2\"}"}"#);
        assert_eq!(escaped, r#"{"log":"{\"password\": [redacted:pair]}"}"#);
    }

    #[test]
    fn a_private_key_goes_as_a_whole_also_where_it_is_cut() {
        let begin = "-----BEGIN RSA PRIVATE KEY-----";
        let whole = format!(r#""a {begin}\nMIIE\n-----END RSA PRIVATE KEY----- b""#);
        assert_eq!(redacted(&whole), r#""a [redacted:private-key] b""#);
        let cut = format!(r#""a {begin}\nMIIE""#);
        assert_eq!(redacted(&cut), r#""a [redacted:private-key]""#);
    }

    #[test]
    fn a_field_with_the_name_of_a_secret_loses_its_text() {
        let found =
            redacted(r#"{"OPENAI_API_KEY" : "x", "tokens": "y", "Token": ["z"], "pwd":""}"#);
        let expected =
            r#"{"OPENAI_API_KEY" : "[redacted:field]", "tokens": "y", "Token": ["z"], "pwd":""}"#;
        assert_eq!(found, expected);
    }

    #[test]
    fn bytes_with_a_secret_are_replaced() {
        let (_, secret) = secrets().swap_remove(0);
        let bytes = [b"\xff ", secret.as_bytes()].concat();
        let json = format!(r#"{{"data":{{"base64":"{}"}}}}"#, BASE64.encode(&bytes));
        let instead = BASE64.encode(b"[redacted:bytes]");
        assert_eq!(
            redacted(&json),
            format!(r#"{{"data":{{"base64":"{instead}"}}}}"#)
        );
    }

    #[test]
    fn a_checkpoint_has_its_other_id_wherever_it_is_named() {
        let patterns = Patterns::new([7; 32]).unwrap();
        let (id, not) = (CheckpointId([1; 32]), CheckpointId([2; 32]));
        let other = patterns.checkpoint(id);
        assert_ne!(other, id);
        let found = patterns.json(&format!(r#"{{"parent":"{id}","n":["{not}"]}}"#));
        assert_eq!(found, format!(r#"{{"parent":"{other}","n":["{not}"]}}"#));
    }

    #[test]
    fn what_is_no_secret_stays_word_for_word() {
        for json in [
            r#"{"kind":"message","content":"a token of love \ud83d\ude00 \ud800","n":1.50}"#,
            r#"{"hash":"b25a9af56c94b42a64bd2d1b83ed6f619328715abf04bc67d31ac363a4bf0e9f"}"#,
            r#"["https://example.org/a:b@c","sk-short","bearer of news"]"#,
            "12",
            "",
        ] {
            assert_eq!(redacted(json), json);
        }
    }
}
