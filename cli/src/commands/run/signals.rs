//! Signals while a command runs: milepost survives them, to record the end of the command.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use milepost::internals::threads;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::platform;

/// Receiver of signals.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// A process in the group of this one. It gets signals of the terminal by itself.
    Process(Pid),
    /// A process group of its own.
    Group(Pid),
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    target: Option<Target>,
    /// Signals that came while there was no target, each once.
    unheard: Vec<i32>,
}

/// Handler of signals, from its creation until it is dropped.
#[derive(Debug)]
pub struct Taken {
    shared: Arc<Shared>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Taken {
    pub fn new() -> io::Result<Self> {
        let ignored = platform::ignored_signals();
        // Ignored signals stay ignored, for the command too: that is the purpose of `nohup`.
        let wanted = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
        let wanted = wanted.into_iter().filter(|signal| !ignored(*signal));
        let mut signals = Signals::new(wanted)?;
        let (handle, shared) = (signals.handle(), Arc::<Shared>::default());
        let told = Arc::clone(&shared);
        let thread = threads::start("signals", move || {
            for signal in signals.forever() {
                told.state().tell(signal);
            }
        });
        let thread = thread.map_err(io::Error::other)?;
        Ok(Self { shared, handle, thread: Some(thread) })
    }

    /// Sets the target of signals, and sends it the earlier ones. The target must not be reaped
    /// yet.
    pub fn go_to(&self, target: Option<Target>) {
        let mut state = self.shared.state();
        state.target = target;
        for signal in std::mem::take(&mut state.unheard) {
            state.tell(signal);
        }
        if target.is_none() {
            state.unheard.clear();
        }
    }

    /// Returns `true` if a signal came since there is no target.
    pub fn came(&self) -> bool {
        !self.shared.state().unheard.is_empty()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Locks the state. The lock is held while a signal is sent: the process is not reaped then.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tell(&mut self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else {
            return;
        };
        match self.target {
            None if self.unheard.contains(&number) => {}
            None => self.unheard.push(number),
            Some(Target::Group(pid)) => {
                let _ = kill_process_group(pid, signal);
            }
            Some(Target::Process(pid)) if matches!(number, SIGTERM | SIGHUP) => {
                let _ = kill_process(pid, signal);
            }
            Some(Target::Process(_)) => {}
        }
    }
}
