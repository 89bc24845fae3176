//! Events as text.

use milepost::Event;

use super::EventForm;
use crate::buffer::Buffer;
use crate::error::ApiError;

/// Appends an event as an item of a list.
pub(crate) fn item(event: Event, out: &mut Vec<u8>) -> Result<(), ApiError> {
    serde_json::to_writer(Buffer::new(out), &EventForm::from(event)).map_err(|_| ApiError::Bug)
}

/// Appends an event as a line.
pub(crate) fn line(event: Event, out: &mut Vec<u8>) -> Result<(), ApiError> {
    item(event, out)?;
    out.push(b'\n');
    Ok(())
}
