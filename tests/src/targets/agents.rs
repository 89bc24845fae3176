//! Settings of coding agents, and the documents that they give to hooks.

use std::path::Path;

use milepost_agents::documents::{self, Document};
use milepost_agents::{Agent, settings};

use crate::targets::bounds::bounded;

/// The agent that the first byte of an input names, and the rest.
fn agent(bytes: &[u8]) -> Option<(Agent, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    Some((*Agent::ALL.get(usize::from(*first) % Agent::ALL.len())?, rest))
}

/// Settings: hooks are put in once, and taken out with every other byte as before.
pub fn agent_settings(bytes: &[u8]) {
    let Some((agent, rest)) = agent(bytes) else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let program = Path::new("/opt/milepost");
    let Ok(before) = settings::installed(text) else { return };
    let Ok(there) = settings::install(text, agent, program) else { return };
    let found = settings::installed(&there.text).expect("it was read before");
    for event in agent.events() {
        let is_there = found.iter().any(|hook| hook.event == *event);
        assert!(is_there, "{event} has no hook: {}", there.text);
    }
    let again = settings::install(&there.text, agent, program).expect("it was edited before");
    assert_eq!(again.text, there.text);
    let left = settings::uninstall(&there.text).expect("it was read before").text;
    assert!(settings::installed(&left).expect("it is JSON").is_empty(), "{left}");
    if before.is_empty() {
        assert_eq!(left, text);
    }
}

/// Documents of hooks: any bytes are an event with their content, or nothing.
pub fn agent_documents(bytes: &[u8]) {
    let Some((agent, rest)) = agent(bytes) else { return };
    let read = bounded("a document", rest.len(), 0, || documents::read(agent, rest));
    if let Document::Event(event) = read {
        assert!((1..=256).contains(&event.session.len()));
        assert_eq!(event.agent, agent);
        assert!(event.folder.is_none_or(|folder| folder.is_absolute()));
    }
}
