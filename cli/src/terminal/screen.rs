//! The terminal: set up for a full-screen view, and reset on every exit.

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

use super::Stroke;
use crate::error::Result;
use crate::store_locator::now_us;

/// Maximum time of requests to the store between two draws, in microseconds.
const WORK_US: u64 = 50_000;

/// The terminal in raw mode. It is reset on drop, after a panic, and by a signal that ends the
/// process.
pub struct Screen {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
    _guard: Guard,
}

impl Screen {
    pub fn take() -> Result<Self> {
        let guard = Guard::new()?;
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Self { terminal, _guard: guard })
    }
}

/// Waits for an event of the terminal, and handles all that wait; one that is no key is `None`.
/// Returns the value of the first one that ends the view.
pub fn press_waiting<E>(
    wait: Duration,
    letters: fn(char) -> Option<Stroke>,
    mut press: impl FnMut(Option<Stroke>) -> Option<E>,
) -> Result<Option<E>> {
    let mut is_waiting = event::poll(wait)?;
    while is_waiting {
        if let Some(end) = press(Stroke::of(event::read()?, letters)) {
            return Ok(Some(end));
        }
        is_waiting = event::poll(Duration::ZERO)?;
    }
    Ok(None)
}

/// Makes requests until a key waits, the time is over, or one returns `false`: there are no more.
pub fn work(mut request: impl FnMut() -> Result<bool>) -> Result<()> {
    let begun = now_us();
    let is_time = || now_us().saturating_sub(begun) < WORK_US;
    while is_time() && !event::poll(Duration::ZERO)? && request()? {}
    Ok(())
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
