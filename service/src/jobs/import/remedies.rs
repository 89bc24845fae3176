//! Remedies of formats, by name: an answer may have more of them than its reader knows.

// tidy: two directions
use milepost_api::Remedy;
use serde_json::{Map, Value};

/// Returns a remedy of a format for an answer.
pub(crate) fn named(remedy: milepost_formats::Remedy) -> Option<Remedy> {
    let (name, value) = match serde_json::to_value(remedy).ok()? {
        Value::String(name) => (name, None),
        Value::Object(fields) => {
            let (name, value) = fields.into_iter().next()?;
            let value = match value {
                Value::String(text) => text,
                value => value.to_string(),
            };
            (name, Some(value))
        }
        _ => return None,
    };
    Some(Remedy::Input { name, value })
}

/// Returns the remedy of a format in an answer, if this version knows it.
pub fn of_input(remedy: &Remedy) -> Option<milepost_formats::Remedy> {
    let Remedy::Input { name, value } = remedy else {
        return None;
    };
    let Some(value) = value else {
        return serde_json::from_value(Value::from(name.as_str())).ok();
    };
    let of = |value: Value| Value::Object(Map::from_iter([(name.clone(), value)]));
    let number = value.parse::<u64>().ok().map(|number| of(number.into()));
    let number = number.and_then(|value| serde_json::from_value(value).ok());
    number.or_else(|| serde_json::from_value(of(value.as_str().into())).ok())
}

#[cfg(test)]
mod tests {
    use milepost_formats::{Format, Remedy};

    use super::*;

    #[test]
    fn a_remedy_is_the_same_behind_its_name() {
        for remedy in [
            Remedy::CheckPath,
            Remedy::NameOtherFormat(Format::OpenAi),
            Remedy::NameOtherFormat(Format::CheckpointTable),
            Remedy::RaiseEventMax(77),
        ] {
            let named = named(remedy).unwrap();
            assert_eq!(of_input(&named), Some(remedy), "{named:?}");
        }
        let unknown = milepost_api::Remedy::Input { name: "fly".into(), value: None };
        assert_eq!(of_input(&unknown), None);
        assert_eq!(of_input(&milepost_api::Remedy::OneInput), None);
    }

    #[test]
    fn the_names_of_formats_are_those_of_the_options() {
        for format in [Format::Jsonl, Format::OpenAi, Format::LangGraph, Format::PauseState] {
            assert_eq!(serde_json::to_value(format).unwrap(), format.name());
        }
    }
}
