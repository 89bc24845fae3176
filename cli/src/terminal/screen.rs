//! The terminal: set up for a full-screen view, and reset on every exit.

use std::io::{self, Stdout, Write as _};
use std::thread::JoinHandle;

use milepost::internals::threads;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::error::Result;

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
