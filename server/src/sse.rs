//! The encoding of streams: server-sent events of the HTML standard.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use axum::body::Bytes;
use milepost::subscribe::LineageChanged;
use milepost::{Event, LineageId, Offset};
use milepost_service::forms;
use serde::Serialize;

use crate::buffer::{Buffer, push};
use crate::forms::{Big, MovedForm};

/// A comment, which keeps a connection open.
pub(crate) const COMMENT: &[u8] = b":\n\n";

/// The position of a stream: a lineage and its next offset. Each event's id is the place after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) lineage: LineageId,
    pub(crate) next: Offset,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.lineage, self.next)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (lineage, next) = text.split_once(':').ok_or(())?;
        let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
        if !digits(lineage) || !digits(next) {
            return Err(());
        }
        Ok(Self {
            lineage: LineageId(lineage.parse().map_err(|_| ())?),
            next: next.parse().map_err(|_| ())?,
        })
    }
}

/// Encodes an event of the followed lineage.
pub(crate) fn event(to: &mut Vec<u8>, lineage: LineageId, event: Event) {
    let next = event.offset + 1;
    let form = forms::event(event);
    frame(to, &form.kind, Some(Place { lineage, next }), &form);
}

/// Encodes a switch to another lineage: events from `at` on are no longer part of the history.
pub(crate) fn moved(to_text: &mut Vec<u8>, moved: LineageChanged) {
    let LineageChanged { from, to, at } = moved;
    let place = Place { lineage: to, next: at };
    let at = Big(at);
    frame(to_text, "lineage", Some(place), &MovedForm { from, to, at });
}

/// Encodes the error that ends a stream.
pub(crate) fn problem(problem: &serde_json::Value) -> Bytes {
    let mut text = Vec::new();
    frame(&mut text, "problem", None, problem);
    text.into()
}

/// Encodes an event without a place.
pub(crate) fn named(name: &str, data: &impl Serialize) -> Bytes {
    let mut text = Vec::new();
    frame(&mut text, name, None, data);
    text.into()
}

fn frame(to: &mut Vec<u8>, name: &str, place: Option<Place>, data: &impl Serialize) {
    // Writing to a buffer cannot fail.
    if let Some(place) = place {
        let _ = writeln!(to, "id: {place}");
    }
    let _ = write!(to, "event: {name}\ndata: ");
    let _ = serde_json::to_writer(Buffer::with(to, push_lines), data);
    to.extend_from_slice(b"\n\n");
}

/// Appends data lines. JSON from outside is kept verbatim and may have several lines.
fn push_lines(to: &mut Vec<u8>, text: &[u8]) {
    for (n, line) in text.split(|c| matches!(c, b'\n' | b'\r')).enumerate() {
        if n > 0 {
            to.extend_from_slice(b"\ndata: ");
        }
        push(to, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written_and_nothing_else_is_one() {
        let place = Place { lineage: LineageId(3), next: u64::MAX };
        assert_eq!(place.to_string().parse(), Ok(place));
        for text in [
            "",
            "1",
            ":",
            "1:",
            ":1",
            "-1:2",
            "1:+2",
            "1:2:3",
            "1:18446744073709551616",
            "x:1",
            " 1:2",
        ] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_line_of_what_is_sent_is_one_of_data() {
        let raw = serde_json::value::RawValue::from_string("{\n\"a\":\r\n 1}".into()).unwrap();
        let mut sent = Vec::new();
        frame(&mut sent, "x", None, &raw);
        assert_eq!(&*sent, b"event: x\ndata: {\ndata: \"a\":\ndata: \ndata:  1}\n\n");
    }
}
