//! Ranges of events.

use milepost::Event;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{Big, EventForm};
use crate::wrong::Wrong;

/// About how many bytes of events an answer has at most.
const BYTES_MAX: usize = 4 << 20;

/// A [`RangeForm`](super::RangeForm) that is made as its events are read.
#[derive(Debug, Serialize)]
pub(crate) struct RangePage {
    items: Vec<Box<RawValue>>,
    next: Option<Big>,
    head: Big,
    #[serde(skip)]
    bytes: usize,
}

impl RangePage {
    pub(crate) fn new(head: u64) -> Self {
        Self {
            items: Vec::new(),
            next: None,
            head: Big(head),
            bytes: 0,
        }
    }

    /// Takes one more event, or says where to go on: after so many events, or so many bytes. One is always taken.
    pub(crate) fn takes(&mut self, event: Event, limit: usize) -> Result<bool, Wrong> {
        let offset = event.offset;
        if self.items.len() < limit {
            let item = to_raw_value(&EventForm::from(event)).map_err(|_| Wrong::Bug)?;
            self.bytes += item.get().len();
            if self.items.is_empty() || self.bytes <= BYTES_MAX {
                self.items.push(item);
                return Ok(true);
            }
        }
        self.next = Some(Big(offset));
        Ok(false)
    }
}

/// An event as a line.
pub(crate) fn line(event: Event, out: &mut Vec<u8>) -> Result<(), Wrong> {
    serde_json::to_writer(&mut *out, &EventForm::from(event)).map_err(|_| Wrong::Bug)?;
    out.push(b'\n');
    Ok(())
}
