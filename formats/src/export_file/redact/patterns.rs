//! Patterns of secrets in a text, and names of fields with a secret.

/// A name and a pattern. Its groups are the secret; without one, all of it is.
pub type Pattern = (&'static str, String);

/// Names of values that are secrets, as programs write them.
const PAIRS: &str = "pass(?:word|wort|wd|phrase|code)s?|pwd|secrets?|token|credentials?|cookies?|\
    _auth|(?:api|access|account|auth|encryption|master|private|secret|service|session|shared|\
    signing)[_-]?key(?:[_-]?base)?";

/// A value to its end: words of a shell or a program, which may be quoted, escaped and continued on
/// the next line. An open quote ends with its line.
const VALUE: &str = r#"
    (?: \\+"(?s:.*?)\\+" | \\+'(?s:.*?)\\+'
      | """(?s:.*?)(?:"""|\z) | '''(?s:.*?)(?:'''|\z)
      | [bfru]{0,2} (?: "(?:[^"\\]|\\(?s:.))*" | '(?:[^'\\]|\\(?s:.))*' | `[^`]*` )
        (?: "(?:[^"\\]|\\(?s:.))*" | '(?:[^'\\]|\\(?s:.))*' | \\(?s:.) | [^\ \t\r\n"'`,;:)}\]>\\] )*
      | [bfru]{0,2} ["'`] [^\r\n]*
      | (?: \\(?:\r\n|(?s:.)) | [^\ \t\r\n"'`\\] )
        (?: "[^"\r\n]*" | '[^'\r\n]*' | \\(?:\r\n[\ \t]*|\n[\ \t]*|(?s:.)) | [^\ \t\r\n] )* )"#;

/// The rest of a command, on lines that are continued.
const ARGUMENTS: &str = r"(?: [^\r\n\\] | \\\r?\n | \\. )*?";

/// Lines that are indented.
const INDENTED: &str = r"(?:[ \t]+[^\r\n]*(?:\r?\n|\z))+";

/// Schemes of an `Authorization` without a secret.
const SCHEMES: &str = concat!(
    r"(?:(?:api-?key|aws4-hmac-sha256|basic|bearer|digest|hawk|key|negotiate|ntlm|oauth|token)",
    r"[\ \t]+)?"
);

/// Returns the patterns, the more telling ones first.
pub fn patterns() -> Vec<Pattern> {
    [headers(), commands(), pairs(), prose()].concat()
}

/// Returns the patterns of keys, headers and addresses.
fn headers() -> Vec<Pattern> {
    vec![
        ("private-key", between("PRIVATE KEY")),
        ("private-key", r"(?i)Private-Lines: *\d+(?s:.*?)(?:Private-MAC:[^\r\n]*|\z)".to_owned()),
        ("bearer", r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{8,})".to_owned()),
        ("basic", header("authorization", r"basic[\ \t]+")),
        ("authorization", header("authorization", SCHEMES)),
        ("cookie", header("cookie2?", "")),
        // A password may contain an `@`; the last one is before the host.
        ("url", r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:([^\s/"'`<>]+)@"#.to_owned()),
        // A token as the user: no user has so long a name.
        ("url", r"https?://([0-9A-Za-z_-]{16,})@".to_owned()),
    ]
}

/// Returns the patterns of what programs read.
fn commands() -> Vec<Pattern> {
    vec![
        // The secret key after the id of a key.
        (
            "aws",
            r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b(?s:.){0,60}?([0-9A-Za-z+/]{40})(?:[^0-9A-Za-z+/]|\z)"
                .to_owned(),
        ),
        (
            "netrc",
            format!(
                r"(?ix)\b (?: (?:machine|login|account)\s+\S+ | default ) \s+ password
                    \s+ ({VALUE})"
            ),
        ),
        (
            "command",
            format!(
                r#"(?ix)\b(?:curl|wget|https?|xh)\b {ARGUMENTS} [\ \t]
                   (?: -u | --user | --proxy-user | -a | --auth ) [\ \t=]*
                   (?: "[^\s:"']*:([^"\r\n]+) | '[^\s:"']*:([^'\r\n]+) | [^\s:"']*:({VALUE}) )"#
            ),
        ),
        (
            "command",
            format!(r"(?ix)\bcurl\b {ARGUMENTS} [\ \t] (?:-b|--cookie) [\ \t=]* ({VALUE})"),
        ),
        (
            "command",
            format!(
                r"(?ix) (?: \b(?:sshpass|mysql|mysqldump|mysqladmin)\b {ARGUMENTS} [\ \t]-p[\ \t]*
                  | \b(?:docker[\ \t]+login|mongo[a-z]*)\b {ARGUMENTS} [\ \t]-p[\ \t]+
                  | \bredis-cli\b {ARGUMENTS} [\ \t]-a[\ \t]+
                  | \bldap[a-z]+\b {ARGUMENTS} [\ \t]-w[\ \t]+
                  | \b(?:un)?zip\b {ARGUMENTS} [\ \t]-P[\ \t]*
                  | -pass(?:in|out)?[\ \t]+pass: ) ({VALUE})"
            ),
        ),
    ]
}

/// Returns the patterns of names with a value.
fn pairs() -> Vec<Pattern> {
    vec![
        // `name: value`, `"name" => "value"`, `x['name'] = b'value'`, `\"name\": \"value\"`
        (
            "pair",
            format!(
                r#"(?ix) (?:{PAIRS}) \\*["'`]? \s* \]? \s* (?: => | := | ={{1,3}} | : | ： | ＝ )
                    \s* ({VALUE})"#
            ),
        ),
        // `name: the value`, alone on its line
        (
            "pair",
            format!(
                r#"(?imx)^ [\ \t>-]* ["']? [A-Za-z0-9_.\ /-]* (?:{PAIRS}) ["']? [\ \t]* : [\ \t]+
                   ([^\ \t\r\n|>"'{{\[][^\r\n]*)"#
            ),
        ),
        // `"name": {"value": "secret"}`, `"names": ["secret"]`
        (
            "pair",
            format!(r#"(?ix) (?:{PAIRS}) \\*["'] \s* (?: => | : ) \s* [\[{{] ([^\[\]{{}}]+)"#),
        ),
        // `{"name": "NAME", "value": "secret"}`, `<add key="Name" value="secret"/>`
        (
            "pair",
            format!(
                r#"(?ix) \b(?:name|key) \\*["']? \s* [:=] \s* \\*["']
                    [^"'\r\n\\]* (?:{PAIRS}) \\*["'] \s* ,? \s*
                    \\*["']? value \\*["']? \s* [:=] \s* ({VALUE})"#
            ),
        ),
        // `["--name", "value"]`
        ("pair", format!(r#"(?ix) --[a-z-]* (?:{PAIRS}) \\*["'] \s* , \s* ({VALUE})"#)),
        // `name = <<END`, and the lines up to one of capital letters
        (
            "pair",
            format!(
                r#"(?x) (?i:{PAIRS}) [^\r\n]{{0,40}}? <<[-~]? ["']? [A-Za-z_]+ [^\r\n]* \n
                    ((?: [^\n]*\n)+? [^\n]*? )
                    (?: [\ \t]*[A-Z_]{{1,20}}\)?[\ \t]*(?:\r?\n|\z) | \z )"#
            ),
        ),
    ]
}

/// Returns the patterns of values with a name elsewhere.
fn prose() -> Vec<Pattern> {
    vec![
        // A name and its value in columns, and in prose: there a secret has a digit.
        ("pair", format!(r"(?imx)^ [\ ]* [A-Za-z0-9_.-]* (?:{PAIRS}) \t+ ({VALUE})")),
        (
            "pair",
            format!(
                r#"(?ix) pass(?:word|wort|phrase|code) \s+
                    (?: is \s+ ([^\s"'`]*[0-9][^\s"'`]*)
                      | for \s [^\r\n:]{{1,60}} : [\ \t]+ ({VALUE}) )"#
            ),
        ),
        // The data of a secret of Kubernetes, whose names are not distinctive.
        ("secret", format!(r"(?m)^[ \t]*stringData:[ \t]*\r?\n({INDENTED})")),
        (
            "secret",
            format!(r"(?m)^kind:[ \t]*Secret\b(?s:.{{0,2000}}?)^data:[ \t]*\r?\n({INDENTED})"),
        ),
        (
            "secret",
            format!(r"(?m)^data:[ \t]*\r?\n({INDENTED})(?s:.{{0,2000}}?)^kind:[ \t]*Secret\b"),
        ),
        // `--name value`
        ("pair", format!(r"(?ix) --[a-z-]* (?:{PAIRS}) (?:\s+|=) ({VALUE})")),
        // `<name>value</name>`
        ("pair", format!(r"(?ix) <[A-Za-z0-9:._-]* (?:{PAIRS}) (?:\ [^<>]*)? > ([^<]+)")),
    ]
}

/// Returns the pattern of a block in the armor of PEM or PGP, which may be cut.
fn between(title: &str) -> String {
    let line = |verb: &str| format!(r"-{{3,5}} ?{verb} [^\r\n-]*{title}[^\r\n-]*-{{3,5}}");
    format!(r"{}(?s:.*?)(?:{}|\z)", line("BEGIN"), line("END"))
}

/// Returns the pattern of a header: within quotes, with a quoted name and value, or a line.
fn header(name: &str, scheme: &str) -> String {
    format!(
        r#"(?ix) (?: "[\ \w-]*{name}\ *[:=]\ *{scheme}([^"\r\n]+)
            | '[\ \w-]*{name}\ *[:=]\ *{scheme}([^'\r\n]+)
            | {name}\\*["'`]\ *\]?\ *(?:=>|[:=])\ *\[?\ *\\*["'`]{scheme}([^"'`\r\n]+)
            | {name}\ *[:=]\ *{scheme}([^\r\n]+) )"#
    )
}

/// Beginning of a value in a block of lines: `name: |`, `name: >-`. The group is the indentation.
pub fn block() -> String {
    format!(
        r#"(?imx)^ ( (?:[\ \t]|-\ )* ) ["']? [A-Za-z0-9_.\ /-]* (?:{PAIRS}) ["']? [\ \t]* :
           (?:[\ \t]+![^\s]*)? (?:[\ \t]+&[^\s]*)? [\ \t]+ [|>] [+\-0-9]{{0,2}} [\ \t]*
           (?:\#[^\r\n]*)? \r?\n"#
    )
}

/// Endings of the names of fields with a secret. `-`, `_` and spaces are ignored.
const NAMES: [&str; 28] = [
    "password",
    "passwords",
    "passwort",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "secretkeybase",
    "token",
    "credential",
    "credentials",
    "cookie",
    "cookies",
    "authorization",
    "apikey",
    "accesskey",
    "accountkey",
    "authkey",
    "encryptionkey",
    "masterkey",
    "privatekey",
    "secretkey",
    "servicekey",
    "sessionkey",
    "sharedkey",
    "signingkey",
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
