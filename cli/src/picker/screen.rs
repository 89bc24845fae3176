//! The terminal: set up for the picker, and reset on every exit.

use std::io::{self, Stdout, Write as _};
use std::thread::JoinHandle;
use std::time::Duration;

use milepost::internals::threads;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::draw::{Looks, draw};
use super::model::{End, Model};
use super::{keys, load};
use crate::backend::Backend;
use crate::error::Result;
use crate::store_locator::now_us;

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

/// The terminal in raw mode. It is reset on drop, after a panic, and by a signal that ends the
/// process.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    _guard: Guard,
}

impl Screen {
    fn take() -> Result<Self> {
        let guard = Guard::new()?;
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Self { terminal, _guard: guard })
    }
}

/// Resets the terminal on drop and on a signal.
struct Guard {
    signals: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    fn new() -> Result<Self> {
        let mut signals = Signals::new([SIGHUP, SIGTERM])?;
        let handle = signals.handle();
        let thread = threads::start("signals", move || {
            // The key loop cannot handle the signal: it may be reading the store, or a closed
            // terminal.
            if let Some(signal) = signals.forever().next() {
                // The key loop may be drawing: the rest of it would follow the reset.
                let _until_the_end = io::stdout().lock();
                give_back();
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
        Ok(Self { signals: handle, thread: Some(thread) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.signals.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        give_back();
    }
}

fn give_back() {
    // A closed terminal cannot be reset; the errors do not matter.
    let mut stdout = io::stdout();
    let _ = execute!(stdout, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
    let _ = stdout.flush();
}
