//! Filter of the printed events.

use clap::builder::PossibleValuesParser;
use milepost::Body;
use milepost::state::{MessageRange, RunReducer};
use milepost_api::{EventForm, PointForm};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::args::{moment, whole};
use crate::backend::Backend;
use crate::error::{Failure, Result, USAGE};

/// Maximum memory of a compiled regular expression, in bytes.
const PATTERN: usize = 1 << 20;

// Filter of the printed events. A doc comment would replace the help of `log`.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
pub struct LogFilter {
    /// Only events of this kind: `message`, `step_finished`. May be given more than once.
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true)]
    pub kind: Vec<String>,
    /// Only events of this step.
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub step: Option<u64>,
    /// Only events of this iteration, of all its steps and phases.
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub iteration: Option<u64>,
    /// Only events of this actor.
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
    /// Only events that contain this text, in upper or lower case. A text with quotes is also found
    /// as JSON with other white space: `"ok": false` finds `"ok":false`.
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Only events from this time on: 2026-01-18T10:30:00Z, 2026-01-18, or a span before now, as
    /// 2h.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<u64>,
    /// Only events until this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub until: Option<u64>,
}

/// Returns a parser that accepts the names of all event kinds.
pub fn kinds() -> PossibleValuesParser {
    let names = (1..=u16::from(u8::MAX)).map(Body::name_of);
    PossibleValuesParser::new(names.filter(|name| *name != "unknown"))
}

/// A filter, with its position in the steps and iterations.
pub struct EventFilter<'a> {
    asked: &'a LogFilter,
    grep: Option<Needle>,
    /// `true` inside the requested step, if the events come oldest first.
    in_step: bool,
    /// The iteration of the last event, if the events come oldest first.
    iteration: u64,
}

impl<'a> EventFilter<'a> {
    pub fn new(asked: &'a LogFilter) -> Self {
        let grep = asked.grep.as_deref().map(Needle::new);
        Self { asked, grep, in_step: false, iteration: 0 }
    }

    /// Returns `true` if the filter needs all events, oldest first.
    pub fn is_ordered(asked: &LogFilter) -> bool {
        asked.step.is_some() || asked.iteration.is_some()
    }

    /// Sets the iteration before the first event: the one of the state there.
    pub fn begin(&mut self, source: &dyn Backend, at: &PointForm) -> Result<()> {
        if self.asked.iteration.is_some() && at.offset.0 > 0 {
            let state = source.state(at, MessageRange::None)?;
            self.iteration = state.get("iteration").and_then(Value::as_u64).unwrap_or(0);
        }
        Ok(())
    }

    /// Returns `true` if this event is printed. To filter by step or iteration, call it for all
    /// events, oldest first.
    pub fn takes(&mut self, event: &EventForm) -> bool {
        let is_of_step = self.is_of_step(event);
        let sets = event.body.as_ref().and_then(RunReducer::iteration_set_by);
        self.iteration = sets.unwrap_or(self.iteration);
        let asked = self.asked;
        let is_one_of =
            |kinds: &[String]| kinds.is_empty() || kinds.iter().any(|k| *k == event.kind);
        let (from, to) = (asked.since.unwrap_or(0), asked.until.unwrap_or(u64::MAX));
        let by = |actor: &String| event.actor.as_ref() == Some(actor);
        is_of_step
            && self.asked.iteration.is_none_or(|asked| asked == self.iteration)
            && is_one_of(&asked.kind)
            && asked.actor.as_ref().is_none_or(by)
            && (from..=to).contains(&event.time_us.0)
            && self.grep.as_ref().is_none_or(|needle| needle.is_in(event))
    }

    fn is_of_step(&mut self, event: &EventForm) -> bool {
        let Some(asked) = self.asked.step else {
            return true;
        };
        match &event.body {
            Some(Body::StepStarted(step)) => {
                self.in_step = step.step == asked;
                self.in_step
            }
            Some(Body::LineageOpened(_)) => {
                self.in_step = false;
                false
            }
            Some(Body::StepFinished(step)) => self.ends(step.step == asked),
            Some(Body::StepFailed(step)) => self.ends(step.step == asked),
            _ => self.in_step,
        }
    }

    /// Returns `true` if an event that ends a step belongs to the requested step.
    fn ends(&mut self, is_asked: bool) -> bool {
        let was = std::mem::take(&mut self.in_step);
        was || is_asked
    }
}

/// What is found in events, in upper or lower case.
#[derive(Debug)]
pub enum Needle {
    /// A part of the body's JSON.
    Text {
        /// The text in lower case.
        text: String,
        /// The text without white space outside of its quotes, if it has quotes.
        compact: Option<String>,
    },
    /// A regular expression, which each text of the body is matched with.
    Pattern(Regex),
}

impl Needle {
    pub fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        let compact = text.contains('"').then(|| compact(&text));
        Self::Text { text, compact }
    }

    /// Finds a text that no letter, digit or underscore precedes or follows.
    pub fn words(text: &str) -> Result<Self> {
        Self::pattern(&format!(r"\b{{start-half}}{}\b{{end-half}}", regex::escape(text)))
    }

    pub fn pattern(pattern: &str) -> Result<Self> {
        let built = RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN).build();
        built.map(Self::Pattern).map_err(|error| {
            let failure = Failure::new(format!("the regular expression: {error}")).code_of(USAGE);
            failure.hint("without `--regex` the text is found as it stands")
        })
    }

    /// Returns `true` if an event has it in its body, actor, user, correlation or key.
    pub fn is_in(&self, event: &EventForm) -> bool {
        let body = event.body.as_ref().and_then(|body| body.to_json().ok());
        let around = [&event.actor, &event.user, &event.correlation, &event.key];
        let mut around = around.into_iter().flatten();
        let is_in_body = |body: String| match self {
            Self::Text { .. } => self.place_in(&body.to_lowercase()).is_some(),
            Self::Pattern(pattern) => {
                serde_json::from_str(&body).is_ok_and(|json| has_match(pattern, &json))
            }
        };
        body.is_some_and(is_in_body)
            || around.any(|word| match self {
                Self::Text { text, .. } => word.to_lowercase().contains(text),
                Self::Pattern(pattern) => pattern.is_match(word),
            })
    }

    /// Returns the place of the first hit in a lower-case text, in bytes. It is approximate where
    /// only white space differs.
    pub fn place_in(&self, within: &str) -> Option<usize> {
        match self {
            Self::Text { text, compact: squeezed } => within
                .find(text)
                .or_else(|| squeezed.as_ref().and_then(|it| compact(within).find(it))),
            Self::Pattern(pattern) => pattern.find(within).map(|found| found.start()),
        }
    }
}

/// Returns `true` if a text of a value matches. Of an object, the names count too.
fn has_match(pattern: &Regex, value: &Value) -> bool {
    match value {
        Value::String(text) => pattern.is_match(text),
        Value::Array(items) => items.iter().any(|item| has_match(pattern, item)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| pattern.is_match(name) || has_match(pattern, value))
        }
        Value::Number(number) => pattern.is_match(&number.to_string()),
        Value::Null | Value::Bool(_) => false,
    }
}

/// Returns a text without the white space outside of its quotes.
fn compact(text: &str) -> String {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let keeps = |c: &char| {
        is_quoted ^= *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_quoted || !c.is_whitespace()
    };
    text.chars().filter(keeps).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn white_space_outside_of_quotes_does_not_count() {
        let found = |text: &str, body: &str| Needle::new(text).place_in(body).is_some();
        let body = r#"{"ok":false,"output":"a \"b c\" d","n":[1,2]}"#;
        for text in [r#""OK": false"#, r#""ok":false"#, r#"{ "ok" : false"#, "a \\\"b c", "[1,2"] {
            assert!(found(text, body), "{text}");
        }
        for text in [r#""ok": true"#, r#""output": "a\"b"#, "\"a  ", "[1, 2"] {
            assert!(!found(text, body), "{text}");
        }
        // Parts of a body may be as they were recorded.
        assert!(found(r#"{"q":"x y"#, r#"{"arguments":{"q": "x y"}}"#));
        assert!(!found(r#"{"q":"xy"#, r#"{"arguments":{"q": "x y"}}"#));
    }

    #[test]
    fn a_word_has_no_letter_beside_it_and_a_pattern_sees_texts_not_json() {
        let is_in = |needle: &Needle, text: &str| {
            let Needle::Pattern(pattern) = needle else { panic!("{needle:?}") };
            has_match(pattern, &json!({ "arguments": { "command": text } }))
        };
        let word = Needle::words("rm").unwrap();
        for text in ["rm a", "cd x\nrm a", "RM", "a;rm", "(rm)"] {
            assert!(is_in(&word, text), "{text}");
        }
        for text in ["confirm", "rmdir", "a_rm", "form rmx"] {
            assert!(!is_in(&word, text), "{text}");
        }
        assert!(is_in(&Needle::words("rm -rf ./").unwrap(), "rm -rf ./x"));
        assert!(is_in(&Needle::pattern(r"^rm\s+-r").unwrap(), "rm  -rf"));
        assert!(Needle::pattern("a{1000}{1000}").is_err());
        assert!(Needle::pattern("(").is_err());
    }
}
