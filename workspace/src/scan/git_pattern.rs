//! Lines of `.gitignore` in the words of the `ignore` crate, where git means something else by
//! them: character classes, braces, and patterns without a name.

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
    let (pattern, last) = without_spaces(pattern);
    // A pattern that names nothing, or a file without a name, matches nothing.
    let is_empty = last.is_none() && pattern.chars().all(|c| c == '/');
    if is_empty || pattern.contains("//") {
        return None;
    }
    let mut out = String::from(sign);
    // Git looks for a name at every depth unless the pattern has a `/`. A class that is written
    // here may get one.
    if pattern.contains('[') && !pattern.trim_end_matches('/').contains('/') {
        out.push_str("**/");
    }
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
    if let Some(last) = last {
        out.extend(['[', last, ']']);
    }
    Some(out)
}

/// Returns a pattern without the spaces at its end that no backslash precedes, which git leaves
/// out. Other white space there is a part of the pattern: it is returned apart, since the `ignore`
/// crate leaves all of it out.
fn without_spaces(pattern: &str) -> (&str, Option<char>) {
    let (mut end, mut chars, mut last) = (0, pattern.char_indices(), None);
    while let Some((at, c)) = chars.next() {
        if c == ' ' {
            continue;
        }
        let (_, named) = if c == '\\' { chars.next().unwrap_or((at, c)) } else { (at, c) };
        end = chars.offset();
        let is_apart = named != ' ' && named.is_whitespace();
        last = is_apart.then_some((at, named));
    }
    match last {
        Some((at, named)) => (pattern.get(..at).unwrap_or_default(), Some(named)),
        None => (pattern.get(..end).unwrap_or_default(), None),
    }
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Translates a character class after its `[`. `None` if git matches nothing by it.
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

/// Reads the name of a class after its `[`, as in `[:alpha:]`.
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use ignore::gitignore::GitignoreBuilder;

    use super::as_git_means;
    use crate::testing::fixtures::{Random, seeds};

    /// Returns whether a file of a path is ignored, by itself or with a folder.
    fn ignores(rules: &str, path: &str) -> bool {
        let mut builder = GitignoreBuilder::new("");
        for line in rules.lines().filter_map(as_git_means) {
            let _ = builder.add_line(None, &line);
        }
        let rules = builder.build().unwrap();
        let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        folders.into_iter().any(|folder| rules.matched(folder, true).is_ignore())
            || rules.matched(path, false).is_ignore()
    }

    /// Answers of git 2.43, one path that is no folder each.
    #[test]
    fn classes_signs_and_braces_mean_what_git_means() {
        let cases = [
            ("[[:alpha:]].x", "a.x", true),
            ("[[:alpha:]].x", "1.x", false),
            ("[![:digit:]]1", "a1", true),
            ("[![:digit:]]1", "11", false),
            ("[[:space:]a]z", " z", true),
            ("[[:nothing:]]", "n", false),
            ("*.env\n!", ".env", true),
            ("*.env\n! ", ".env", true),
            ("*.env\n/", ".env", true),
            ("{a,b}", "a", false),
            ("{a,b}", "{a,b}", true),
            ("[]]x", "]x", true),
            ("[!]]x", "ax", true),
            ("[\\]]x", "]x", true),
            ("[a-]x", "-x", true),
            ("[^a]x", "bx", true),
            ("*.ke[!p]", "sub/id.key", true),
            ("*.ke[!p]", "sub/id.kep", false),
            ("d[!p]/", "a/dx/file", true),
            ("sub/*.ke[!p]", "a/sub/id.key", false),
            ("/*.ke[!p]", "sub/id.key", false),
            ("[^^]", "b", true),
            ("[^^]", "^", false),
            ("a\t", "a", false),
            ("a\t", "a\t", true),
            ("a \t", "a \t", true),
            ("a\t ", "a\t", true),
            ("a\\\t", "a\t", true),
            ("a\r\r\n", "a\r", true),
            ("a\r\r\n", "a", false),
            ("a\r\n", "a", true),
            ("a  ", "a", true),
            ("a\\  ", "a ", true),
            ("\t", "\t", true),
            ("[!a]x", "ax", false),
            ("[a", "[a", false),
            ("\\!x", "!x", true),
            ("\\#x", "#x", true),
        ];
        for (rules, path, expected) in cases {
            assert_eq!(ignores(rules, path), expected, "{rules:?} {path:?}");
        }
    }

    /// Returns the paths that git ignores by the rules of a folder.
    fn ignored_by_git(folder: &std::path::Path, paths: &[String]) -> Vec<String> {
        let mut asked = Command::new("git")
            .current_dir(folder)
            .args(["check-ignore", "-z", "--stdin", "--no-index"])
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input: String = paths.iter().map(|path| format!("./{path}\0")).collect();
        let mut stdin = asked.stdin.take().unwrap();
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let done = asked.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        String::from_utf8(done.stdout).unwrap().split('\0').map(str::to_owned).collect()
    }

    /// Parts of random rules.
    const PIECES: [&str; 28] = [
        "a",
        "b",
        "1",
        ".",
        "-",
        "*",
        "?",
        "[ab]",
        "[!a]",
        "[^b]",
        "[[:alpha:]]",
        "[[:digit:]]",
        "[![:alnum:]]",
        "[[:punct:]]",
        "[a-c1]",
        "[]a]",
        "{",
        "}",
        ",",
        "\\*",
        "/",
        "/**/",
        "[b-]",
        "[[:upper:]]",
        " ",
        "\t",
        "\r",
        "\\ ",
    ];

    /// Random rules, against the git of this machine.
    #[test]
    fn random_rules_mean_what_git_means() {
        let dir = tempfile::tempdir().unwrap();
        let init = Command::new("git").current_dir(dir.path()).args(["init", "-q", "."]).output();
        if init.is_err() {
            eprintln!("not run: git is not installed");
            return;
        }
        let names = [
            "a", "b", "1", ".", "-", "ab", "a1", "b-", "A", "{", "}", "]", "a,b", "!", "^", "*",
            " ", "\t", "\r",
        ];
        let mut differ = Vec::new();
        for seed in seeds(60) {
            let mut random = Random::new(seed);
            let mut rules = String::new();
            for _ in 0..=random.below(4) {
                if random.below(4) == 0 {
                    rules.push('!');
                }
                if random.below(6) == 0 {
                    rules.push_str("**/");
                }
                for _ in 0..random.below(4) {
                    rules.push_str(random.of(&PIECES));
                }
                rules.push('\n');
            }
            std::fs::write(dir.path().join(".gitignore"), &rules).unwrap();
            let mut paths: Vec<String> = Vec::new();
            for _ in 0..60 {
                let name: String = (0..=random.below(2)).map(|_| random.of(&names)).collect();
                let folder = random.of(&["", "", "d/", "d/ab/", "1/"]);
                if name != "." && name != ".." {
                    paths.push(format!("{folder}{name}"));
                }
            }
            let ignored = ignored_by_git(dir.path(), &paths);
            for path in &paths {
                let by_git = ignored.contains(&format!("./{path}"));
                if ignores(&rules, path) != by_git {
                    differ.push(format!("MILEPOST_SEED={seed} {rules:?} {path:?} {by_git}"));
                }
            }
        }
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    }
}
