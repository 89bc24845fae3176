//! Messages in the form of OpenAI's API and of its fine-tuning files.
//!
//! ```text
//! [{"role": .., "content": ..}, ..]          one conversation
//! {"messages": [..], "model": .., ..}        one conversation, and variables
//! several such values, one after another,
//! or a list of such objects                  a conversation each: a task each
//! {"role": .., "content": ..} per line       one conversation
//! ```

use milepost::Body;
use milepost::events::MarkStatus;
use milepost::internals::json_reason;

use super::plan::{Plan, Run};
use super::turns::Turns;
use crate::json_object::Object;

/// Returns a plan for each conversation in the JSON values of a file.
pub fn plans(values: &[String]) -> Result<Vec<Plan>, String> {
    let conversations = conversations(values)?;
    let several = conversations.len() > 1;
    let plan = |(index, (fields, messages)): (usize, (Object, Vec<Object>))| {
        let number = index + 1;
        let place = match several {
            true => format!("conversation {number}"),
            false => String::new(),
        };
        Ok(Plan {
            suffix: several.then(|| number.to_string()),
            runs: vec![run(fields, messages, &place)?],
        })
    };
    conversations.into_iter().enumerate().map(plan).collect()
}

/// Returns the messages of each conversation, and its other fields.
fn conversations(values: &[String]) -> Result<Vec<(Object, Vec<Object>)>, String> {
    let mut all = Vec::new();
    let mut lines = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let invalid =
            |error: serde_json::Error| format!("value {}: {}", index + 1, json_reason(&error));
        if value.starts_with('[') {
            let list: Vec<Object> = serde_json::from_str(value).map_err(invalid)?;
            match list.first() {
                Some(first) if first.get("messages").is_some() => {
                    for (at, object) in list.into_iter().enumerate() {
                        all.push(object_of(object, &format!("entry {at}"))?);
                    }
                }
                _ => all.push((Object::default(), list)),
            }
            continue;
        }
        let object: Object = serde_json::from_str(value).map_err(invalid)?;
        match object.get("role") {
            Some(_) => lines.push(object),
            None => all.push(object_of(object, &format!("value {}", index + 1))?),
        }
    }
    if !lines.is_empty() {
        all.push((Object::default(), lines));
    }
    Ok(all)
}

fn object_of(mut object: Object, place: &str) -> Result<(Object, Vec<Object>), String> {
    let messages = object
        .take_list("messages")
        .ok_or_else(|| format!("{place} has no list of messages under `messages`"))?;
    Ok((object, messages))
}

fn run(fields: Object, messages: Vec<Object>, place: &str) -> Result<Run, String> {
    let of = match place {
        "" => String::new(),
        place => format!(" of {place}"),
    };
    if messages.is_empty() {
        return Err(format!("there is no message to record{of}"));
    }
    let mut run = Run::default();
    let mut turns = Turns::new(&mut run);
    for (index, message) in messages.into_iter().enumerate() {
        let place = format!("message {index}{of}");
        turns.message(message, &place, |body: Body| body)?;
    }
    turns.end(fields, MarkStatus::Success)?;
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::plan::Item;

    fn read(values: &[&str]) -> Result<Vec<Plan>, String> {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        plans(&values)
    }

    fn kinds(plan: &Plan) -> Vec<&str> {
        let mut kinds = Vec::new();
        for item in &plan.runs[0].items {
            kinds.push(match item {
                Item::Event(body) => body.kind_name(),
                Item::Mark { .. } => "mark",
            });
        }
        kinds
    }

    #[test]
    fn every_form_of_a_conversation_is_read() {
        let one = r#"{"role":"user","content":"q"}"#;
        let two = concat!(
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","#,
            r#""function":{"name":"f","arguments":"{}"}}]}"#
        );
        let three = r#"{"role":"tool","tool_call_id":"c","content":"r"}"#;
        let list = format!("[{one},{two},{three}]");
        let expected =
            ["message", "step_started", "tool_called", "tool_returned", "step_finished", "mark"];
        for values in [vec![list.as_str()], vec![one, two, three]] {
            let plans = read(&values).unwrap();
            assert_eq!(plans.len(), 1);
            assert_eq!(plans[0].suffix, None);
            assert_eq!(kinds(&plans[0]), expected);
        }
        let object = format!(r#"{{"model":"m","messages":{list}}}"#);
        let several = format!("[{object},{object}]");
        for values in [vec![object.as_str(), object.as_str()], vec![several.as_str()]] {
            let plans = read(&values).unwrap();
            let suffixes: Vec<_> = plans.iter().map(|plan| plan.suffix.as_deref()).collect();
            assert_eq!(suffixes, [Some("1"), Some("2")]);
            let mut expected = expected.to_vec();
            expected.insert(5, "variables_patched");
            assert_eq!(kinds(&plans[1]), expected);
        }
    }

    #[test]
    fn what_is_no_conversation_says_where() {
        let error = |values: &[&str]| read(values).unwrap_err();
        assert_eq!(error(&["[]"]), "there is no message to record");
        assert_eq!(
            error(&[r#"{"messages":[]}"#, r#"{"x":1}"#]),
            "value 2 has no list of messages under `messages`"
        );
        assert_eq!(error(&[r#"[{"role":"user"},{"content":"x"}]"#]), "message 1 has no `role`");
        assert!(error(&["7"]).starts_with("value 1: "));
    }
}
