//! Names that are near to one that does not exist.

use super::printable;

/// Largest number of names that are looked at.
pub const CANDIDATES_MAX: usize = 10_000;

/// Largest number of names in a hint.
const NAMED_MAX: usize = 3;

/// Longest name that is compared letter by letter, in bytes.
const LENGTH_MAX: usize = 200;

/// Returns the names that are nearest to a word, the nearest first.
///
/// Near are names with the same letters in another case or with other punctuation, names with few
/// other letters, and names that begin with the word.
pub fn nearest<N: AsRef<str>>(word: &str, names: impl IntoIterator<Item = N>) -> Vec<N> {
    let folded = fold(word);
    let mut near: Vec<(usize, N)> = Vec::new();
    for name in names.into_iter().take(CANDIDATES_MAX) {
        let Some(distance) = distance(word, &folded, name.as_ref()) else {
            continue;
        };
        let at = near.partition_point(|(other, _)| *other <= distance);
        if at < NAMED_MAX && !near.iter().any(|(_, other)| other.as_ref() == name.as_ref()) {
            near.insert(at, (distance, name));
            near.truncate(NAMED_MAX);
        }
    }
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns the question about the nearest names; `None` without one.
pub fn did_you_mean<N: AsRef<str>>(names: &[N]) -> Option<String> {
    let (last, before) = names.split_last()?;
    let quoted = |name: &N| format!("`{}`", printable(name.as_ref()));
    let last = quoted(last);
    Some(match before.is_empty() {
        true => format!("did you mean {last}?"),
        false => {
            let before: Vec<String> = before.iter().map(quoted).collect();
            format!("did you mean {} or {last}?", before.join(", "))
        }
    })
}

/// Returns the letters and digits of a name in lower case.
fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the distance of a name to a word; `None` if it is not near.
fn distance(word: &str, folded: &str, name: &str) -> Option<usize> {
    if word == name || folded.is_empty() {
        return None;
    }
    let begins = folded.len() >= 2 && name.starts_with(word);
    let by_prefix = begins.then_some(LENGTH_MAX);
    // A third of the letters may differ.
    let most = (word.chars().count() / 3).clamp(1, 4);
    if word.len() > LENGTH_MAX || name.len().abs_diff(word.len()) > 4 * most {
        return by_prefix;
    }
    if fold(name) == *folded {
        return Some(0);
    }
    let other = strsim::osa_distance(word, name);
    (other <= most).then_some(other).or(by_prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_by_few_letters_by_case_and_by_their_beginning() {
        let names = ["run", "react", "airline-0", "airline-7", "history_only", "before-fix"];
        for (word, near) in [
            ("rum", &["run"][..]),
            ("Run", &["run"]),
            ("reakt", &["react"]),
            ("airline-1", &["airline-0", "airline-7"]),
            ("airline", &["airline-0", "airline-7"]),
            ("historyonly", &["history_only"]),
            ("before_fix", &["before-fix"]),
            ("befor-fix", &["before-fix"]),
            ("run", &[]),
            ("sunrise", &[]),
            ("", &[]),
            ("-", &[]),
        ] {
            assert_eq!(nearest(word, names), near, "{word}");
        }
    }

    #[test]
    fn at_most_three_names_are_given_the_nearest_first_and_escaped() {
        let names = ["tuning-12", "tuning-1x", "tuning-1\u{1b}", "tuning-1", "tuning-1"];
        assert_eq!(nearest("tuning-1y", names)[0], "tuning-12");
        assert_eq!(nearest("tuning_1", names), ["tuning-1\u{1b}", "tuning-1", "tuning-12"]);
        let question = did_you_mean(&["a\u{1b}", "b", "c"]).unwrap();
        assert_eq!(question, "did you mean `a\\u{1b}`, `b` or `c`?");
        assert_eq!(did_you_mean(&["a"]).unwrap(), "did you mean `a`?");
        assert_eq!(did_you_mean::<&str>(&[]), None);
    }

    #[test]
    fn no_more_names_than_the_limit_are_looked_at() {
        let many = std::iter::repeat_n("zzz", CANDIDATES_MAX);
        assert_eq!(nearest("rum", many.clone().skip(1).chain(["run"])), ["run"]);
        assert!(nearest("rum", many.chain(["run"])).is_empty());
    }
}
