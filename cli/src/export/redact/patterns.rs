//! What looks like a secret in a text, and the names of fields that have one.

/// What is looked for, and the name that stands instead of it. Groups stay: they say what the
/// secret was for.
pub type Pattern = (&'static str, &'static str);

pub const PATTERNS: [Pattern; 13] = [
    (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
        "[redacted:private-key]",
    ),
    (r"\bsk-[A-Za-z0-9_-]{16,}", "[redacted:api-key]"),
    (r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})", "[redacted:github]"),
    (r"\bglpat-[A-Za-z0-9_-]{16,}", "[redacted:gitlab]"),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "[redacted:aws]"),
    (r"\bxox[abeprs]-[A-Za-z0-9-]{10,}", "[redacted:slack]"),
    (r"\bAIza[0-9A-Za-z_-]{35}", "[redacted:google]"),
    (r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+", "[redacted:jwt]"),
    (r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}", "${1}[redacted:bearer]"),
    (
        r#"(?i)(\bauthorization\\*["']?\s*[:=]\s*\\*["']?basic\s+)[A-Za-z0-9+/=]+"#,
        "${1}[redacted:basic]",
    ),
    // A password may have an `@` in it: the last one is that before the host.
    (r#"([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:)[^\s/"'`<>]+@"#, "${1}[redacted:url]@"),
    // `name: value`, `"name" => "value"`, `x['name'] = b'value'`, `\"name\": \"value\"`
    (
        r#"(?ix)
        ( (?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)
          \\*["'`]? \s* \]? \s* (?: => | := | ={1,3} | : ) \s* )
        (?: \\+"(?s:.*?)\\+" | \\+'(?s:.*?)\\+'
          | [bfru]{0,2}"(?:[^"\\]|\\(?s:.))*" | [bfru]{0,2}'(?:[^'\\]|\\(?s:.))*'
          | [^\s"',;&]+ )"#,
        "${1}[redacted:pair]",
    ),
    // `--name value`
    (
        r#"(?ix)
        ( --[a-z-]* (?:password|passwd|pwd|secret|token|api-?key|access-?key|private-?key) \s+ )
        (?: "[^"]*" | '[^']*' | [^\s"'-][^\s"']* )"#,
        "${1}[redacted:pair]",
    ),
];

/// What a field of an object ends with whose text is a secret; `-`, `_` and white space do not
/// count.
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

/// Whether the text of a field of this name is a secret.
pub fn is_secret(name: &str) -> bool {
    let counts = |c: &char| !matches!(c, '-' | '_' | ' ');
    let plain: String = name.chars().filter(counts).collect();
    let plain = plain.to_ascii_lowercase();
    NAMES.iter().any(|end| plain.ends_with(end))
}
