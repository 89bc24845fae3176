//! The session and the prompt that a user names.

use crate::error::{Failure, Result, USAGE};

/// The prompt to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// None: the user picks one.
    None,
    /// The label of its mark, or of one of the user.
    Label(String),
    /// A number of prompts from the end.
    Back(usize),
}

/// A session and a prompt of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The session; `None` for the last one.
    pub session: Option<String>,
    pub prompt: Named,
}

impl Place {
    /// Parses what the user wrote.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        let Some(text) = text else { return Ok(Self { session: None, prompt: Named::None }) };
        let session = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        if let Some((name, back)) = text.rsplit_once('~') {
            // `SESSION@~1` is meant as `SESSION~1`.
            let name = name.strip_suffix('@').unwrap_or(name);
            let back = back.parse().ok().filter(|back| *back > 0).ok_or_else(|| wrong(text))?;
            return Ok(Self { session: session(name), prompt: Named::Back(back) });
        }
        if let Some((name, label)) = text.rsplit_once('@') {
            let label = Some(label).filter(|label| !label.is_empty()).ok_or_else(|| wrong(text))?;
            let label = label_of(label).unwrap_or_else(|| label.to_owned());
            return Ok(Self { session: session(name), prompt: Named::Label(label) });
        }
        Ok(match label_of(text) {
            Some(label) => Self { session: None, prompt: Named::Label(label) },
            None => Self { session: session(text), prompt: Named::None },
        })
    }
}

/// Returns the label of `prompt-2` or `2`.
fn label_of(text: &str) -> Option<String> {
    let number = text.strip_prefix("prompt-").unwrap_or(text);
    let number: u32 = number.parse().ok()?;
    Some(format!("prompt-{number}"))
}

fn wrong(text: &str) -> Failure {
    Failure::new(format!("{text} names no prompt")).code_of(USAGE).hint(
        "write `prompt-2`, or `~1` for the last prompt; `SESSION@prompt-2`, `SESSION~1`; \
               `@NAME` for a mark",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_has_a_label_or_is_counted_from_the_end() {
        let of = |text: &str| {
            let place = Place::parse(Some(text)).unwrap();
            (place.session.unwrap_or_default(), place.prompt)
        };
        let label = |label: &str| Named::Label(label.to_owned());
        assert_eq!(of("prompt-2"), (String::new(), label("prompt-2")));
        assert_eq!(of("2"), (String::new(), label("prompt-2")));
        assert_eq!(of("@prompt-2"), (String::new(), label("prompt-2")));
        assert_eq!(of("s1@prompt-02"), ("s1".into(), label("prompt-2")));
        assert_eq!(of("s1@best"), ("s1".into(), label("best")));
        assert_eq!(of("s1~3"), ("s1".into(), Named::Back(3)));
        assert_eq!(of("s1@~3"), ("s1".into(), Named::Back(3)));
        assert_eq!(of("~1"), (String::new(), Named::Back(1)));
        assert_eq!(of("s1"), ("s1".into(), Named::None));
        for text in ["~0", "~x", "s1@"] {
            assert!(Place::parse(Some(text)).is_err(), "{text}");
        }
    }
}
