//! The loop of the picker: keys, requests to the store, draws.

use std::time::Duration;

use ratatui::crossterm::event;

use super::draw::{Looks, draw};
use super::model::{End, Model};
use super::{keys, load};
use crate::backend::Backend;
use crate::error::Result;
use crate::store_locator::now_us;
use crate::terminal::Screen;

/// Maximum time of requests to the store between two draws, in microseconds.
const WORK_US: u64 = 50_000;
/// Maximum wait for a key before the ages are redrawn.
const IDLE: Duration = Duration::from_secs(10);

/// Runs the picker until the user chooses.
pub fn show(source: &dyn Backend, mut model: Model, color: bool) -> Result<End> {
    let mut screen = Screen::take()?;
    loop {
        let looks = Looks { color, now_us: now_us() };
        screen.terminal.draw(|frame| draw(frame, &mut model, looks))?;
        if let Some(end) = press_waiting(&mut model)? {
            return Ok(end);
        }
        work(source, &mut model)?;
    }
}

/// Handles the waiting keys. The screen is redrawn before their effect is read from the store.
fn press_waiting(model: &mut Model) -> Result<Option<End>> {
    let wait = match model.next_job() {
        Some(_) => Duration::ZERO,
        None => IDLE,
    };
    let mut waiting = event::poll(wait)?;
    while waiting {
        let key = keys::of(event::read()?);
        if let Some(end) = key.and_then(|key| model.press(key)) {
            return Ok(Some(end));
        }
        waiting = event::poll(Duration::ZERO)?;
    }
    Ok(None)
}

/// Runs jobs of the model until a key waits or the time is over.
fn work(source: &dyn Backend, model: &mut Model) -> Result<()> {
    let begun = now_us();
    while now_us().saturating_sub(begun) < WORK_US && !event::poll(Duration::ZERO)? {
        let Some(job) = model.next_job() else {
            break;
        };
        load::run(source, job, model)?;
    }
    Ok(())
}
