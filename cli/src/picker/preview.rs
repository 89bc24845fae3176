//! The preview of a checkpoint: changes of a restore to the state, and the captured files.

use milepost::ErrorKind;
use milepost::state::MessageRange;
use milepost_api::CheckpointForm;

use super::details;
use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{count, excerpt, printable, shell_word, size, span, time, words};
use crate::terminal::{Line, Tone};

/// Maximum number of changes, and of characters of a value.
const CHANGES: usize = 200;
const EXCERPT: usize = 80;
/// Maximum number of files that are counted, and that are named.
const COUNTED: u64 = 10_000;
const NAMED: usize = 5;

/// The part of a preview that is read from the store.
#[derive(Debug, Default)]
pub struct Preview {
    /// Number of events, and size of the state.
    pub size: Option<Line>,
    pub files: Vec<Line>,
    pub changes: Vec<Line>,
    /// True if files were captured at the checkpoint.
    pub has_files: bool,
}

/// Returns the fields of the checkpoint itself.
pub fn facts(checkpoint: &CheckpointForm) -> Vec<Line> {
    let id: String = checkpoint.id.to_string();
    let name = checkpoint.label.as_deref().map(|label| excerpt(label, EXCERPT));
    let address = words::address(&checkpoint.task, checkpoint.lineage, checkpoint.at.0);
    let (status, cause) = (checkpoint.status.name(), checkpoint.cause.name());
    let mut lines = vec![Line::new(Tone::Title, name.unwrap_or_else(|| short(checkpoint)))];
    lines.push(Line::new(Tone::Plain, format!("point     {}", printable(&address))));
    lines.push(Line::new(Tone::Plain, format!("id        {id}")));
    lines.push(Line::new(Tone::Plain, format!("time      {}", time(checkpoint.time_us.0))));
    lines.push(Line::new(Tone::Plain, format!("status    {status}, {cause}")));
    if let Some(metadata) = &checkpoint.metadata {
        let metadata = excerpt(metadata.text(), 4 * EXCERPT);
        lines.push(Line::new(Tone::Plain, format!("metadata  {metadata}")));
    }
    lines
}

/// Returns the abbreviated id of a checkpoint.
pub fn short(checkpoint: &CheckpointForm) -> String {
    format!("@{}", words::short_id(&checkpoint.id))
}

/// Returns the time since `then_us`, in its largest unit.
pub fn ago(now_us: u64, then_us: u64) -> String {
    match now_us.checked_sub(then_us) {
        Some(past) if past >= 1_000_000 => format!("{} ago", span(past)),
        // The clock may have been set back.
        None if then_us - now_us >= 60_000_000 => "in the future".into(),
        _ => "just now".into(),
    }
}

/// Reads the effect of a restore.
pub fn read(source: &dyn Backend, checkpoint: &CheckpointForm) -> Preview {
    let (files, has_files) = match files(source, checkpoint) {
        Ok(Some(files)) => (files, true),
        Ok(None) => (vec![Line::new(Tone::Dim, "no files were captured there")], false),
        Err(failure) => (vec![unknown("the files", &failure)], false),
    };
    let changes = changes(source, checkpoint);
    Preview {
        size: size_of(source, checkpoint).ok(),
        files,
        changes: changes.unwrap_or_else(|failure| vec![unknown("the state", &failure)]),
        has_files,
    }
}

/// Returns the number of events up to the checkpoint, and the bytes of its state as JSON without
/// messages.
fn size_of(source: &dyn Backend, checkpoint: &CheckpointForm) -> Result<Line> {
    let state = source.state(&details::point(checkpoint), MessageRange::None)?;
    let bytes = state.to_string().len() as u64;
    let events = count(checkpoint.at.0, "event");
    let text = format!("size      {events}, state {}", size(bytes));
    Ok(Line::new(Tone::Plain, text))
}

fn unknown(what: &str, failure: &Failure) -> Line {
    let failure = excerpt(&failure.to_string(), 4 * EXCERPT);
    Line::new(Tone::Removed, format!("{what}: {failure}"))
}

/// Returns the number of files in the last capture before the checkpoint, and the first names.
fn files(source: &dyn Backend, checkpoint: &CheckpointForm) -> Result<Option<Vec<Line>>> {
    let (mut number, mut bytes, mut lines) = (0, 0, Vec::new());
    let read = source.files(&details::point(checkpoint), &mut |file| {
        if file.kind == "directory" {
            return Ok(());
        }
        number += 1;
        bytes += file.size.map_or(0, |size| size.0);
        if lines.len() < NAMED {
            let path = excerpt(&file.path.to_string(), 2 * EXCERPT);
            lines.push(Line::new(Tone::Plain, format!("  {path}")));
        }
        // Stops reading at the limit.
        match number < COUNTED {
            true => Ok(()),
            false => Err(Failure::reported(0)),
        }
    });
    match read {
        Err(failure) if failure.kind() == Some(ErrorKind::NotFound) => return Ok(None),
        Err(failure) if number < COUNTED => return Err(failure),
        _ => {}
    }
    let title = match number {
        COUNTED => format!("{} or more, captured", count(number, "file")),
        _ => format!("{} captured, {}", count(number, "file"), size(bytes)),
    };
    if number > lines.len() as u64 {
        lines.push(Line::new(Tone::Dim, "  …"));
    }
    lines.insert(0, Line::new(Tone::Title, title));
    Ok(Some(lines))
}

/// Returns the changes from the task's head to the checkpoint.
fn changes(source: &dyn Backend, checkpoint: &CheckpointForm) -> Result<Vec<Line>> {
    let head = source.point(&words::encode(&checkpoint.task))?;
    let changes = source.changes(&head, &details::point(checkpoint))?;
    if changes.items.is_empty() {
        return Ok(vec![Line::new(Tone::Dim, "the states are the same")]);
    }
    let mut lines = vec![Line::new(Tone::Title, "the state, if it is restored")];
    lines.extend(changes.items.iter().take(CHANGES).map(|change| Line::of_change(change, EXCERPT)));
    if changes.more || changes.items.len() > CHANGES {
        let words = [&head.address, &details::point(checkpoint).address].map(|it| shell_word(it));
        let text = format!("  … `milepost diff {}` has the others", words.join(" "));
        lines.push(Line::new(Tone::Dim, text));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NOW_US, checkpoint};
    use super::*;

    #[test]
    fn times_are_said_as_how_long_ago() {
        let minutes = |count: u64| NOW_US - count * 60_000_000;
        assert_eq!(ago(NOW_US, NOW_US), "just now");
        assert_eq!(ago(NOW_US, minutes(3)), "3 minutes ago");
        assert_eq!(ago(NOW_US, minutes(60 * 24)), "1 day ago");
        assert_eq!(ago(NOW_US, NOW_US + 5), "just now");
        assert_eq!(ago(NOW_US, NOW_US + 70_000_000), "in the future");
        assert_eq!(ago(0, u64::MAX), "in the future");
    }

    #[test]
    fn a_checkpoint_says_where_it_is_and_nothing_of_it_moves_the_cursor() {
        let mut checkpoint = checkpoint("a\u{1b}[2J", 7);
        checkpoint.label = Some("re\u{1b}[31md\nline".into());
        let text: Vec<String> = facts(&checkpoint).into_iter().map(|line| line.text).collect();
        assert_eq!(text.first().unwrap(), "re\\u{1b}[31md line");
        assert_eq!(text.get(1).unwrap(), "point     a%1B%5B2J/0@7");
        assert!(text.iter().all(|line| !line.contains(char::is_control)), "{text:?}");
    }
}
