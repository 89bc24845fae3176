//! Events to write.

use std::path::PathBuf;

use milepost::events::{Extra, Message};
use milepost::{Body, Json};

/// A message of about `bytes` bytes that compresses like text.
pub fn generated(n: u64, bytes: usize) -> Body {
    const WORDS: [&str; 16] = [
        "the", "step", "found", "file", "error", "value", "in", "test", "of", "and", "returned",
        "agent", "score", "line", "with", "open",
    ];
    let mut state = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = format!("{n}:");
    while text.len() + 32 < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push(' ');
        text.push_str(WORDS[(state % 16) as usize]);
        if state.is_multiple_of(7) {
            text.push_str(&(state >> 40).to_string());
        }
    }
    Message::text("user", &text).into()
}

/// The messages of the recorded tau-bench runs, where the folder is there.
pub fn recorded() -> Option<Vec<Body>> {
    let folder = std::env::var_os("MILEPOST_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(folder.join("tau-bench/gpt-4o-airline.json")).ok()?;
    let runs: Vec<serde_json::Value> = serde_json::from_str(&text).ok()?;
    let messages = runs.iter().flat_map(|run| run["traj"].as_array().cloned().unwrap_or_default());
    Some(messages.map(|message| body(&message)).collect())
}

fn body(message: &serde_json::Value) -> Body {
    let mut extra = message.as_object().cloned().unwrap_or_default();
    extra.remove("role");
    extra.remove("content");
    Message {
        role: message["role"].as_str().unwrap_or_default().to_owned(),
        content: Some(Json::from_value(&message["content"]).unwrap()),
        name: None,
        extra: (!extra.is_empty()).then(|| Extra(Json::from_value(&extra).unwrap())),
    }
    .into()
}

/// Recorded events, or generated ones of 770 bytes, repeated until their payloads have `bytes`.
pub struct Rounds {
    round: Vec<Body>,
    /// Bytes of the payloads of all rounds.
    pub size: u64,
    /// The number of rounds.
    pub times: usize,
}

impl Rounds {
    /// Rounds of `bytes` in all, or a little more.
    pub fn of(bytes: u64) -> Self {
        let round = recorded().unwrap_or_else(|| (0..5000).map(|n| generated(n, 770)).collect());
        let size: u64 = round.iter().map(|body| body.encode().1.len() as u64).sum();
        let times = bytes.div_ceil(size).max(1);
        Self { round, size: size * times, times: times as usize }
    }

    /// The events of one round: 256 MB of events take the memory of two rounds. Each round has its
    /// number in the middle of its long messages: a store that deduplicates would have one round
    /// otherwise. Repetitions within a round stay.
    pub fn round(&self, number: usize) -> Vec<Body> {
        self.round.iter().map(|body| numbered(body, number)).collect()
    }
}

/// The same body, with a number in the middle of its text if that is long.
fn numbered(body: &Body, number: usize) -> Body {
    const LONG: usize = 2 << 10;
    const DIGITS: usize = 8;
    let Body::Message(message) = body else { return body.clone() };
    let content = message.content.as_ref().map(|json| json.value().unwrap());
    let Some(serde_json::Value::String(mut text)) =
        content.filter(|_| body.encode().1.len() > LONG)
    else {
        return body.clone();
    };
    let is_ascii = |at: &usize| text.get(*at..at + DIGITS).is_some_and(str::is_ascii);
    if let Some(at) = (text.len() / 2..text.len()).find(is_ascii) {
        text.replace_range(at..at + DIGITS, &format!("{number:08}"));
    }
    Message { content: Some(Json::string(&text)), ..message.clone() }.into()
}
