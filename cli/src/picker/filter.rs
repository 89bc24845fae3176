//! Which checkpoints are meant by what was typed.

use milepost::MarkStatus;
use milepost_forms::CheckpointForm;

use crate::commands::words;

/// How many characters of the metadata are looked at.
const METADATA: usize = 400;

/// What was typed, to be compared with.
#[derive(Debug, Default)]
pub struct Filter {
    words: Vec<String>,
}

impl Filter {
    pub fn new(typed: &str) -> Self {
        let words = typed.split_whitespace().map(str::to_lowercase);
        Self { words: words.collect() }
    }

    /// Whether each word is somewhere in the text, which [`text`] made.
    pub fn takes(&self, text: &str) -> bool {
        let mut lines = text.splitn(3, '\n');
        let mut line = || lines.next().unwrap_or_default();
        let (id, place, rest) = (line(), line(), line());
        self.words.iter().all(|word| {
            let word = word.as_str();
            // Ids and offsets have every digit: they are meant by who says so.
            let is_place = word.contains(['@', '/']);
            let there = is_place && (id.starts_with(word) || place.contains(word));
            there || rest.contains(word)
        })
    }
}

/// What the filter looks at: all that the list knows without asking for more.
pub fn text(checkpoint: &CheckpointForm) -> String {
    let place = words::address(&checkpoint.task, checkpoint.lineage, checkpoint.at.0);
    // What a task or a label has of line ends is in no word.
    let place = place.replace('\n', " ");
    let mut text = format!("@{}\n{place}\n{}", checkpoint.id, checkpoint.task);
    let words = [
        checkpoint.label.as_deref().unwrap_or_default(),
        words::cause(checkpoint.cause),
        // Nearly all of them are a success.
        match checkpoint.status {
            MarkStatus::Failure => words::status(MarkStatus::Failure),
            MarkStatus::Success => "",
        },
    ];
    for word in words.into_iter().chain(aliases(checkpoint)) {
        text.push('\n');
        text.push_str(word);
    }
    if let Some(step) = step(checkpoint) {
        text.push_str(&format!("\nstep {step}"));
    }
    if let Some(metadata) = &checkpoint.metadata {
        text.push('\n');
        text.extend(metadata.text().chars().take(METADATA));
    }
    text.to_lowercase()
}

fn aliases(checkpoint: &CheckpointForm) -> impl Iterator<Item = &str> {
    checkpoint.aliases.iter().map(String::as_str)
}

/// The step that the metadata names, as a run's own checkpoints do.
pub fn step(checkpoint: &CheckpointForm) -> Option<u64> {
    let metadata = checkpoint.metadata.as_ref()?.value().ok()?;
    metadata.get("step")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::super::samples::checkpoint;
    use super::*;

    #[test]
    fn every_word_has_to_be_somewhere_and_case_does_not_matter() {
        let text = text(&checkpoint("Tuning", 12));
        for typed in ["", "  ", "tun", "TUNING", "step 12", "12 tuning", "tun @"] {
            assert!(Filter::new(typed).takes(&text), "{typed}");
        }
        for typed in ["tunning", "step 13", "tuning failure", "tuning manual"] {
            assert!(!Filter::new(typed).takes(&text), "{typed}");
        }
    }

    #[test]
    fn label_address_id_cause_and_metadata_are_looked_at() {
        let checkpoint = checkpoint("a/b", 7);
        let text = text(&checkpoint);
        let id: String = checkpoint.id.to_string().chars().take(12).collect();
        for typed in ["a/b-7", "a%2Fb/0@7", &format!("@{id}"), "{\"step\":7}"] {
            assert!(Filter::new(typed).takes(&text), "{typed}");
        }
        // Digits alone are no part of an id or an offset, and of an id only its beginning is.
        for typed in ["00", "0@8", "@00", &id] {
            assert!(!Filter::new(typed).takes(&text), "{typed}");
        }
        assert_eq!(step(&checkpoint), Some(7));
    }

    #[test]
    fn only_failures_are_found_by_their_status() {
        let mut checkpoint = checkpoint("a", 7);
        assert!(!Filter::new("success").takes(&text(&checkpoint)));
        checkpoint.status = MarkStatus::Failure;
        assert!(Filter::new("failure").takes(&text(&checkpoint)));
    }
}
