//! Patterns of names of tasks, in which `*` matches any text.

/// Returns `true` if a task has the name of a pattern, in which `*` matches any text.
pub fn is_named(task: &str, pattern: Option<&str>) -> bool {
    let Some(pattern) = pattern else {
        return true;
    };
    let Some((first, rest)) = pattern.split_once('*') else {
        return task == pattern;
    };
    let Some(mut left) = task.strip_prefix(first) else {
        return false;
    };
    let mut parts = rest.split('*').collect::<Vec<_>>();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = left.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let named = |pattern: &str| is_named("gpt-4o-airline-7", Some(pattern));
        for pattern in
            ["gpt-4o-airline-7", "*", "gpt*", "*-7", "*air*", "g*4o*7", "gpt-4o-airline-7*"]
        {
            assert!(named(pattern), "{pattern}");
        }
        for pattern in ["gpt", "*-8", "air*", "g*x*7", "*7*7", ""] {
            assert!(!named(pattern), "{pattern}");
        }
        assert!(is_named("a", None));
    }
}
