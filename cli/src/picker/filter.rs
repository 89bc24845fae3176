//! The filter: checkpoints that match the typed words.

use milepost::events::MarkStatus;
use milepost_api::CheckpointForm;

use crate::output::words;

/// Number of characters of the metadata that are searched.
const METADATA: usize = 400;

/// The typed words, in lower case.
#[derive(Debug, Default)]
pub struct WordFilter {
    words: Vec<String>,
}

impl WordFilter {
    pub fn new(typed: &str) -> Self {
        let words = typed.split_whitespace().map(str::to_lowercase);
        Self { words: words.collect() }
    }

    /// Returns `true` if the text, made by [`text`], contains each word.
    pub fn takes(&self, text: &str) -> bool {
        let mut lines = text.splitn(3, '\n');
        let mut line = || lines.next().unwrap_or_default();
        let (id, place, rest) = (line(), line(), line());
        self.words.iter().all(|word| {
            let word = word.as_str();
            // Ids and offsets contain every digit, so that only a word with `@` or `/` searches
            // them.
            let is_place = word.contains(['@', '/']);
            let there = is_place && (id.starts_with(word) || place.contains(word));
            there || rest.contains(word)
        })
    }
}

/// Returns the text that the filter searches: everything that the list has of a checkpoint.
pub fn text(checkpoint: &CheckpointForm) -> String {
    let place = words::address(&checkpoint.task, checkpoint.lineage, checkpoint.at.0);
    // A task name may contain line ends; no word does.
    let place = place.replace('\n', " ");
    let mut text = format!("@{}\n{place}\n{}", checkpoint.id, checkpoint.task);
    let words = [
        checkpoint.label.as_deref().unwrap_or_default(),
        checkpoint.cause.name(),
        // Most checkpoints are a success, so that the word would not select.
        match checkpoint.status {
            MarkStatus::Failure => MarkStatus::Failure.name(),
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

/// Returns the step in the metadata, as a run's own checkpoints have it.
pub fn step(checkpoint: &CheckpointForm) -> Option<u64> {
    let metadata = checkpoint.metadata.as_ref()?.value().ok()?;
    metadata.get("step")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::super::testing::checkpoint;
    use super::*;

    #[test]
    fn every_word_has_to_be_somewhere_and_case_does_not_matter() {
        let text = text(&checkpoint("Tuning", 12));
        for typed in ["", "  ", "tun", "TUNING", "step 12", "12 tuning", "tun @"] {
            assert!(WordFilter::new(typed).takes(&text), "{typed}");
        }
        for typed in ["tunning", "step 13", "tuning failure", "tuning manual"] {
            assert!(!WordFilter::new(typed).takes(&text), "{typed}");
        }
    }

    #[test]
    fn label_address_id_cause_and_metadata_are_looked_at() {
        let checkpoint = checkpoint("a/b", 7);
        let text = text(&checkpoint);
        let id: String = checkpoint.id.to_string().chars().take(12).collect();
        for typed in ["a/b-7", "a%2Fb/0@7", &format!("@{id}"), "{\"step\":7}"] {
            assert!(WordFilter::new(typed).takes(&text), "{typed}");
        }
        // Digits alone match no id and no offset. An id is matched from its beginning only.
        for typed in ["00", "0@8", "@00", &id] {
            assert!(!WordFilter::new(typed).takes(&text), "{typed}");
        }
        assert_eq!(step(&checkpoint), Some(7));
    }

    #[test]
    fn only_failures_are_found_by_their_status() {
        let mut checkpoint = checkpoint("a", 7);
        assert!(!WordFilter::new("success").takes(&text(&checkpoint)));
        checkpoint.status = MarkStatus::Failure;
        assert!(WordFilter::new("failure").takes(&text(&checkpoint)));
    }
}
