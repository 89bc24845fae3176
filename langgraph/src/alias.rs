//! Ids of checkpoints as aliases. The order of aliases is that of ids within a namespace.
//!
//! ```text
//! namespace ""      ID
//! others            !NAMESPACE/ID
//! ```
//!
//! `!` sorts before letters and digits, so that the greatest alias of a task is the newest
//! checkpoint of the root namespace. `%` and `/` of a namespace are `%25` and `%2F`. An id of the
//! root namespace that begins with a character up to `!` has the second form, too.

/// The first character of the second form.
const MARKER: char = '!';

/// Returns the alias of a checkpoint.
///
/// ```
/// use milepost_langgraph::alias;
///
/// assert_eq!(alias("", "1ef0"), "1ef0");
/// assert_eq!(alias("inner:7|leaf", "1ef0"), "!inner:7|leaf/1ef0");
/// ```
pub fn alias(namespace: &str, id: &str) -> String {
    match is_plain(namespace, id) {
        true => id.to_owned(),
        false => format!("{}{id}", prefix(namespace)),
    }
}

fn is_plain(namespace: &str, id: &str) -> bool {
    namespace.is_empty() && id.chars().next().is_some_and(|first| first > MARKER)
}

/// Returns the text that aliases of the second form in a namespace begin with.
pub fn prefix(namespace: &str) -> String {
    format!("{MARKER}{}/", namespace.replace('%', "%25").replace('/', "%2F"))
}

/// Returns namespace and id of an alias; `None` if the alias belongs to another program.
///
/// ```
/// use milepost_langgraph::{alias, id_in};
///
/// assert_eq!(id_in(&alias("a/b", "c/d")), Some(("a/b".into(), "c/d".into())));
/// ```
pub fn id_in(alias: &str) -> Option<(String, String)> {
    let Some(rest) = alias.strip_prefix(MARKER) else {
        return Some((String::new(), alias.to_owned()));
    };
    let (namespace, id) = rest.split_once('/')?;
    Some((namespace.replace("%2F", "/").replace("%25", "%"), id.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_alias_has_its_namespace_and_id(namespace in ".{0,20}", id in ".{1,20}") {
            prop_assert_eq!(id_in(&alias(&namespace, &id)), Some((namespace, id)));
        }

        #[test]
        fn ids_of_a_namespace_are_together_and_in_order(
            namespace in "[!-~]{0,6}",
            other in "[!-~]{0,6}",
            a in "[0-9a-f]{4}",
            b in "[0-9a-f]{4}",
        ) {
            let (first, second) = (alias(&namespace, &a), alias(&namespace, &b));
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
            let between = alias(&other, &a);
            if other != namespace && first < between && between < second {
                prop_assert!(false, "{} is between {} and {}", between, first, second);
            }
        }
    }
}
