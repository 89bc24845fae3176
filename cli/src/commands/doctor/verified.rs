//! Time of the last full verification. `verify` keeps it in a note in the store.

use std::path::Path;

use milepost_api::Big;
use serde::Deserialize;

use super::check::Check;
use crate::output::{count, span};

/// Name of the note in the store.
const NOTE: &str = "verified.json";
/// Microseconds after which a verification is stale: 30 days.
const STALE: u64 = 30 * 86_400 * 1_000_000;

#[derive(Deserialize)]
struct Note {
    time_us: Big,
    events: Big,
    faults: usize,
}

pub fn check(folder: &Path, now_us: u64) -> Check {
    let text = std::fs::read_to_string(folder.join(NOTE)).ok();
    let note: Option<Note> = text.and_then(|text| serde_json::from_str(&text).ok());
    let Some(note) = note else {
        return Check::look(
            "verified",
            "all of it was never verified here",
            "`milepost verify` computes every hash again and compares both copies",
        );
    };
    let ago = now_us.saturating_sub(note.time_us.0);
    let said = format!(
        "{} ago, {}: {}",
        span(ago),
        count(note.events.0, "event"),
        count(note.faults as u64, "fault")
    );
    match (note.faults, ago > STALE) {
        (0, false) => Check::fine("verified", said),
        (0, true) => Check::look("verified", said, "`milepost verify` does it again"),
        (_, _) => Check::failed(
            "verified",
            said,
            "`milepost verify` says which, `milepost repair --dry-run` what can be mended",
        ),
    }
}
