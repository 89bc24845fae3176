//! Events as text.

use milepost::Event;

use super::EventForm;
use crate::buffer::Buffer;
use crate::wrong::Wrong;

/// An event as an item of a list.
pub(crate) fn item(event: Event, out: &mut Vec<u8>) -> Result<(), Wrong> {
    serde_json::to_writer(Buffer::new(out), &EventForm::from(event)).map_err(|_| Wrong::Bug)
}

/// An event as a line.
pub(crate) fn line(event: Event, out: &mut Vec<u8>) -> Result<(), Wrong> {
    item(event, out)?;
    out.push(b'\n');
    Ok(())
}
