//! Lines of `.gitignore` in the words of the `ignore` crate, where git means something else by them:
//! character classes, braces, and patterns without a name.

/// Returns a line of rules that means to the `ignore` crate what the given one means to git. `None`
/// if it matches nothing in git.
pub(super) fn as_git_means(line: &str) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let (sign, pattern) = match line.strip_prefix('!') {
        Some(pattern) => ("!", pattern),
        None => ("", line),
    };
    // A pattern that names nothing matches nothing.
    if pattern.trim_end_matches([' ', '\r']).chars().all(|c| c == '/') {
        return None;
    }
    let mut out = String::from(sign);
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(rest.next());
            }
            '{' | '}' => out.extend(['\\', c]),
            '[' => out.push_str(&class(&mut rest)?),
            c => out.push(c),
        }
    }
    Some(out)
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Translates a character class behind its `[`. `None` if git matches nothing by it.
fn class(rest: &mut Rest<'_>) -> Option<String> {
    let is_negated = rest.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut is_first = true;
    loop {
        let c = rest.next()?;
        match c {
            ']' if !is_first => break,
            '[' if rest.peek() == Some(&':') => match named(rest) {
                Named::Ranges(more) => ranges.extend(more),
                Named::Plain => ranges.push(('[', '[')),
                Named::Unknown => return None,
            },
            c => {
                let from = if c == '\\' { rest.next()? } else { c };
                let mut ahead = rest.clone();
                match (ahead.next(), ahead.next()) {
                    (Some('-'), Some(end)) if end != ']' => {
                        rest.next();
                        let to = match rest.next()? {
                            '\\' => rest.next()?,
                            to => to,
                        };
                        ranges.push((from, to));
                    }
                    _ => ranges.push((from, from)),
                }
            }
        }
        is_first = false;
    }
    Some(written(is_negated, ranges))
}

enum Named {
    Ranges(Vec<(char, char)>),
    /// No name, but a `[` and what follows.
    Plain,
    Unknown,
}

/// Reads the name of a class behind its `[`, as in `[:alpha:]`.
fn named(rest: &mut Rest<'_>) -> Named {
    let mut ahead = rest.clone();
    ahead.next();
    let text: String = ahead.by_ref().take_while(|c| *c != ']').collect();
    let Some(name) = text.strip_suffix(':') else { return Named::Plain };
    let ranges: &[(char, char)] = match name {
        "alnum" => &[('a', 'z'), ('A', 'Z'), ('0', '9')],
        "alpha" => &[('a', 'z'), ('A', 'Z')],
        "blank" => &[(' ', ' '), ('\t', '\t')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[(' ', ' '), ('\t', '\r')],
        "upper" => &[('A', 'Z')],
        "xdigit" => &[('0', '9'), ('a', 'f'), ('A', 'F')],
        _ => return Named::Unknown,
    };
    *rest = ahead;
    Named::Ranges(ranges.to_vec())
}

/// Writes a class that never matches a `/`, as in git.
fn written(is_negated: bool, ranges: Vec<(char, char)>) -> String {
    let mut plain: Vec<(char, char)> = Vec::new();
    for (from, to) in ranges {
        match (from, to) {
            _ if from > to => {}
            _ if is_negated || !(from..=to).contains(&'/') => plain.push((from, to)),
            _ => {
                plain.extend(Some((from, '.')).filter(|(from, to)| from <= to));
                plain.extend(Some(('0', to)).filter(|(from, to)| from <= to));
            }
        }
    }
    if is_negated {
        plain.push(('/', '/'));
    }
    // A range of three or more is split at its ends, so that each end can be written anywhere.
    let (mut singles, mut spans) = (Vec::new(), Vec::new());
    for (from, to) in plain {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' '..='+' | '/' | ':'..='@');
        match from == to {
            true => singles.push(from),
            false if is_plain(from) && is_plain(to) && from != '!' => spans.push((from, to)),
            // Few ranges have such ends: each character is written.
            false => singles.extend(from..=to),
        }
    }
    singles.retain(|c| is_negated || *c != '/');
    if singles.is_empty() && spans.is_empty() {
        // Nothing is in the class: a name has no zero byte.
        return "\0".to_owned();
    }
    let mut out = String::from(if is_negated { "[!" } else { "[" });
    if singles.contains(&']') {
        out.push(']');
    }
    for (from, to) in spans {
        out.extend([from, '-', to]);
    }
    let last = |c: &char| matches!(c, '!' | '^' | '-');
    out.extend(singles.iter().filter(|c| **c != ']' && !last(c)));
    if out == "[" && !singles.contains(&'-') {
        // A sign alone would negate the class.
        out.push('\0');
    }
    for c in ['-', '!', '^'] {
        if c != '-' && singles.contains(&c) {
            if out == "[" {
                out.push('\0');
            }
            out.push(c);
        }
    }
    if singles.contains(&'-') {
        out.push('-');
    }
    out.push(']');
    out
}
