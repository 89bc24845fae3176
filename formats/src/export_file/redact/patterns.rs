//! Patterns of secrets in a text, and names of fields with a secret.

/// A pattern and its replacement. Groups are kept: they name the purpose of the secret.
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
    // A password may contain an `@`; the last one is before the host.
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

/// Endings of the names of fields with a secret. `-`, `_` and spaces are ignored.
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

/// Returns `true` if a field of this name has a secret.
pub fn is_secret(name: &str) -> bool {
    let plain = plain(name);
    NAMES.iter().any(|end| plain.ends_with(end))
}

/// Returns `true` if the name of a field ends with `token`.
pub fn is_token(name: &str) -> bool {
    plain(name).ends_with("token")
}

fn plain(name: &str) -> String {
    let counts = |c: &char| !matches!(c, '-' | '_' | ' ');
    name.chars().filter(counts).collect::<String>().to_ascii_lowercase()
}
