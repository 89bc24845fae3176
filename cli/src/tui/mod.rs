//! The terminal view of a store. docs/PAGE.md describes its screens and keys.
//!
//! ```text
//! draw      the view as a screen
//! load      requests to the store, while no key waits
//! press     the effect of each key
//! app       the screens, and the next request to the store
//! actions   actions: their plans and effects
//! plan      a plan as a question, with choices
//! sharing   the share of a task as a file
//! document  the document of a turn or an event
//! compare   two histories next to each other
//! metrics   metrics over steps
//! lanes     lineages as lanes
//! task      a task at a point: turns, events, searches
//! tasks     the list of tasks
//! paged     a long list, of which pages are in memory
//! link      the link to what is shown
//! menu      the list of all actions
//! prompt    typed answers
//! keys      the table of keys
//! ```
//!
//! Only this file and `keys` use the terminal (`crate::terminal`), and only `load`, `document`,
//! `actions` and `sharing` the store.

mod actions;
mod app;
mod compare;
mod document;
mod draw;
mod keys;
mod lanes;
mod link;
mod load;
mod menu;
mod metrics;
mod paged;
mod plan;
mod press;
mod prompt;
mod sharing;
mod task;
mod tasks;
#[cfg(test)]
mod testing;

use std::io::{self, Write as _};
use std::time::Duration;

use data_encoding::BASE64;

use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{Out, printable};
use crate::store_locator::now_us;
use crate::terminal::{Looks, Screen, is_possible, press_waiting, work};
use app::{App, Request};
use keys::Stroke;
use load::Reading;

/// Minimum time between two draws, in microseconds: at most 30 a second.
const DRAW_US: u64 = 33_400;
/// Time between two looks for changes, in microseconds.
const LOOK_US: u64 = 500_000;

/// Refuses to begin where there is no terminal.
pub fn check(out: &Out) -> Result<()> {
    match is_possible(out) {
        true => Ok(()),
        false => Err(Failure::new("`tui` needs a terminal for its input and output").hint(
            "`milepost tasks` lists the tasks, `milepost log TASK` prints events, with --json for \
             programs",
        )),
    }
}

/// Shows a store until the user leaves. Prints the last address.
pub fn run(source: &dyn Backend, address: Option<&str>, out: &mut Out) -> Result<()> {
    check(out)?;
    let reading = Reading { source };
    let mut app = App { url: source.url().map(str::to_owned), ..App::new() };
    // An address that leads nowhere fails before the terminal is set up.
    if let Some(address) = address {
        reading.open(address, &mut app)?;
    }
    show(&reading, &mut app, out.colors())?;
    match app.address() {
        Some(address) => Ok(out.line(printable(&address))?),
        None => Ok(()),
    }
}

/// Times of the last draw and of the last look for changes.
struct Pace {
    drawn: u64,
    looked: u64,
    /// Something changed since the last draw.
    is_changed: bool,
    /// A key was pressed since the last draw. Its effect is shown before the next request.
    is_pressed: bool,
}

fn show(reading: &Reading<'_>, app: &mut App, color: bool) -> Result<()> {
    let mut screen = Screen::take()?;
    let mut pace = Pace { drawn: 0, looked: now_us(), is_changed: true, is_pressed: false };
    loop {
        let now = now_us();
        if pace.is_changed && pace.next_draw(now) == 0 {
            screen.terminal.draw(|frame| draw::draw(frame, app, Looks { color, now_us: now }))?;
            pace = Pace { drawn: now, is_changed: false, is_pressed: false, ..pace };
        }
        let wait = Duration::from_micros(pace.wait(app, now_us()));
        let press = |stroke: Option<Stroke>| {
            (pace.is_changed, pace.is_pressed) = (true, true);
            app.press(stroke?).then_some(())
        };
        if press_waiting(wait, |_| None, press)?.is_some() {
            return Ok(());
        }
        if let Some(text) = app.copied.take() {
            copy(&text)?;
        }
        if pace.next_look(now_us()) == 0 {
            pace.looked = now_us();
            app.ask(Request::Refresh);
        }
        if !pace.is_pressed {
            work(|| {
                let Some(request) = app.next_request() else { return Ok(false) };
                reading.run(request, app);
                pace.is_changed = true;
                Ok(true)
            })?;
        }
    }
}

impl Pace {
    /// Returns the time until the screen may be drawn again. A clock may be set back.
    fn next_draw(&self, now: u64) -> u64 {
        DRAW_US.saturating_sub(now.checked_sub(self.drawn).unwrap_or(DRAW_US))
    }

    fn next_look(&self, now: u64) -> u64 {
        LOOK_US.saturating_sub(now.checked_sub(self.looked).unwrap_or(LOOK_US))
    }

    /// Returns the time to wait for a key: until the next draw, or the next look for changes. A
    /// request to the store does not wait.
    fn wait(&self, app: &App, now: u64) -> u64 {
        match (app.next_request().is_some(), self.is_changed) {
            _ if self.is_pressed => self.next_draw(now),
            (true, _) => 0,
            (false, true) => self.next_draw(now),
            (false, false) => self.next_look(now),
        }
    }
}

/// Asks the terminal to copy a text (OSC 52).
fn copy(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    write!(stdout, "\x1b]52;c;{}\x07", BASE64.encode(text.as_bytes()))?;
    stdout.flush()
}
