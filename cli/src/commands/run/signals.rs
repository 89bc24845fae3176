//! Signals while a command runs: milepost lives on, to record how it ended.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// Who is told of a signal.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// A process that is in the group of this one. What the terminal sends it gets itself.
    Process(Pid),
    /// A group of its own.
    Group(Pid),
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    target: Option<Target>,
    /// Signals that came while nobody was to be told, each once.
    unheard: Vec<i32>,
}

/// Signals are taken from when this is made until it is dropped.
#[derive(Debug)]
pub struct Taken {
    shared: Arc<Shared>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Taken {
    pub fn new() -> io::Result<Self> {
        let ignored = ignored();
        // What was ignored stays so, for the command too: `nohup` is meant.
        let wanted = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
        let wanted = wanted.into_iter().filter(|signal| !ignored(*signal));
        let mut signals = Signals::new(wanted)?;
        let (handle, shared) = (signals.handle(), Arc::<Shared>::default());
        let told = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("milepost-signals".into());
        let thread = thread.spawn(move || {
            for signal in signals.forever() {
                told.state().tell(signal);
            }
        })?;
        Ok(Self { shared, handle, thread: Some(thread) })
    }

    /// Who is told from now on, and of what came before. It has to be somebody who is not waited
    /// for yet.
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

    /// Whether one came since nobody is to be told.
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
    /// Held while a signal is sent: nobody waits for the process meanwhile.
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

/// Which signals are ignored.
fn ignored() -> impl Fn(i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    let mask = mask.unwrap_or(0);
    move |signal| (1..=64).contains(&signal) && mask >> (signal - 1) & 1 == 1
}
