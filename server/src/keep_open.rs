//! Reopening of a served store after a failed write.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use milepost::Engine;
use milepost::internals::threads;
use tracing::{error, warn};

use crate::app::App;

/// Interval of the checks for a failed write.
const LOOK: Duration = Duration::from_millis(200);

/// Wait after a failed attempt to reopen.
const WAIT: Duration = Duration::from_secs(2);

/// Reopens a served store after a failed write, until this is dropped.
#[derive(Debug)]
#[must_use = "the store is opened again for as long as this is held"]
pub struct KeptOpen {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl KeptOpen {
    pub(crate) fn start(
        app: App,
        open: impl Fn() -> Result<Engine, String> + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = threads::start("keep-open", move || {
            let (mut wait, mut is_open) = (LOOK, true);
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = LOOK;
                if is_open && !app.engine().store().is_poisoned() {
                    continue;
                }
                let reserve = app.options.disk_reserve;
                if app.free().is_some_and(|free| free < reserve) {
                    continue;
                }
                if is_open {
                    warn!(target: "milepost::http", "a write failed: the store is opened again");
                    // The error of closing is the failed write, which is known.
                    let _ = app.engine().close();
                }
                match open() {
                    Ok(engine) => {
                        app.replace(engine);
                        is_open = true;
                        warn!(target: "milepost::http", "the store is open again");
                    }
                    Err(error) => {
                        is_open = false;
                        wait = WAIT;
                        error!(target: "milepost::http", error, "the store cannot be opened");
                    }
                }
            }
        });
        let thread = thread.map_err(io::Error::other)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for KeptOpen {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already reported.
            let _ = thread.join();
        }
    }
}
