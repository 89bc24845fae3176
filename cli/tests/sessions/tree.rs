//! Any tree of messages: each of its ends has exactly the messages that lead to it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::Place;
use crate::sessions::conversation;
use crate::sessions::made::{Made, SESSION, said};

/// A message: its parent, and whether it is a prompt. Some lines between are ignored.
type Step = (prop::sample::Index, bool, bool);

/// The session, and the messages that lead to each of them.
fn session(steps: &[Step]) -> (Made, Vec<Vec<String>>) {
    let mut made = Made::new();
    let mut paths: Vec<Vec<String>> = Vec::new();
    for (at, (before, asks, noise)) in steps.iter().enumerate() {
        // The nearer the likelier: sessions are long more than they are wide.
        let before = match at {
            0 => None,
            _ if *noise => Some(at - 1),
            _ => Some(before.index(at)),
        };
        let (uuid, text) = (format!("u{at}"), format!("message {at}"));
        let parent = before.map(|before| format!("u{before}"));
        if *noise {
            made.other(json!({"type": "progress", "uuid": format!("n{at}"), "parentUuid": parent}));
        }
        match (asks, &parent) {
            (false, Some(parent)) => made.assistant(&uuid, parent, json!([said(&text)])),
            _ => made.user(&uuid, parent.as_deref(), &text),
        }
        let mut path = before.map(|before| paths[before].clone()).unwrap_or_default();
        path.push(text);
        paths.push(path);
    }
    (made, paths)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn each_end_of_a_tree_has_the_messages_that_lead_to_it(
        steps in prop::collection::vec(any::<Step>(), 1..40)
    ) {
        let place = Place::new();
        let (made, paths) = session(&steps);
        made.save(&place);
        place.say("import session.jsonl").ok();
        let lineages = place.json(&format!("lineages {SESSION}"));
        let ids = lineages.as_array().unwrap().iter().map(|lineage| &lineage["id"]);
        // By their last message; a lineage that was opened to go on with has those of another.
        let found: BTreeMap<String, Vec<String>> = ids
            .map(|id: &Value| conversation(&place, &format!("{SESSION}/{id}")))
            .map(|said| (said.last().cloned().unwrap_or_default(), said))
            .collect();
        let continues =
            |path: &[String], other: &[String]| other.len() > path.len() && other.starts_with(path);
        let inner = |path: &Vec<String>| paths.iter().any(|other| continues(path, other));
        let ends = paths.iter().filter(|path| !inner(path));
        let expected: BTreeMap<String, Vec<String>> =
            ends.map(|path| (path.last().cloned().unwrap_or_default(), path.clone())).collect();
        prop_assert_eq!(found, expected);
        let last = conversation(&place, SESSION);
        prop_assert_eq!(&last, paths.last().unwrap());
    }
}
