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

/// Recorded events, or generated ones of 770 bytes, repeated until their payloads have `bytes`;
/// and the payload bytes there are. They are shared, not copied: 256 MB of events take the memory
/// of one round.
pub fn repeated(bytes: u64) -> (Vec<Body>, u64, usize) {
    let round = recorded().unwrap_or_else(|| (0..5000).map(|n| generated(n, 770)).collect());
    let size: u64 = round.iter().map(|body| body.encode().1.len() as u64).sum();
    let times = bytes.div_ceil(size).max(1);
    (round, size * times, times as usize)
}
