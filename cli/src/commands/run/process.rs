//! Process of the command: its output is passed through and recorded, and its time is limited.
//!
//! The caller passes the output through. The waiter thread notices the end of the process, and
//! leaves it to the caller to reap it: no signal reaches a reused process id. A timer thread runs
//! if the time is limited.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeWriter};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::recorder::Recorder;
use super::signals::{Taken, Target};
use super::tee::Tee;
use crate::secrets;

/// Time that a process group has to end after SIGTERM.
pub const GRACE: Duration = Duration::from_secs(5);

/// Command to run, with its environment.
#[derive(Debug)]
pub struct Asked<'a> {
    pub argv: &'a [OsString],
    /// Working directory.
    pub folder: &'a Path,
    /// The store, in the variable MILEPOST_STORE.
    pub store: &'a Path,
    pub timeout: Option<Duration>,
    pub grace: Duration,
    /// `true` passes the key of the store to it.
    pub pass_key: bool,
    /// `true` sends all of its output to standard error.
    pub to_stderr: bool,
}

/// Exit status of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitStatus {
    Exit(i32),
    Signal(i32),
    /// The command was not started: the exit code that a shell uses for this, and the reason.
    NotStarted(i32, String),
}

/// Result of running a command.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub timed_out: bool,
    pub ms: u64,
    /// Reason why its output was not passed through completely, if the user should know.
    pub not_passed: Option<String>,
}

/// Runs a command to its end.
pub fn run(asked: &Asked<'_>, signals: &Taken, recorder: &mut Recorder) -> Ended {
    #[expect(clippy::disallowed_methods, reason = "how long something takes decides nothing")]
    let begun = Instant::now();
    let mut ended = match start(asked) {
        Ok(child) => follow(child, asked, signals, recorder),
        Err(error) => Ended::not_started(&error, asked.argv),
    };
    ended.ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    ended
}

fn start(asked: &Asked<'_>) -> io::Result<Child> {
    let (program, args) = match asked.argv.split_first() {
        Some((program, args)) => (program.as_os_str(), args),
        None => (OsStr::new(""), &[] as &[OsString]),
    };
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(asked.folder)
        .env("MILEPOST_STORE", asked.store)
        .stdin(Stdio::inherit())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env_remove(secrets::TOKEN);
    if !asked.pass_key {
        command.env_remove(secrets::KEY);
    }
    if asked.timeout.is_some() {
        command.process_group(0);
    }
    command.spawn()
}

impl Ended {
    /// Returns the result for a command that was not started.
    pub fn not_started(error: &io::Error, argv: &[OsString]) -> Self {
        let code = match error.kind() {
            io::ErrorKind::NotFound => 127,
            _ => 126,
        };
        let program = argv.first().map(|name| name.to_string_lossy());
        let program = program.unwrap_or_default();
        let message = format!("{program} cannot be started: {error}");
        Self {
            status: ExitStatus::NotStarted(code, message),
            timed_out: false,
            ms: 0,
            not_passed: None,
        }
    }
}

/// Follows a process to its end.
fn follow(mut child: Child, asked: &Asked<'_>, signals: &Taken, recorder: &mut Recorder) -> Ended {
    let pid = Pid::from_child(&child);
    signals.go_to(Some(match asked.timeout {
        Some(_) => Target::Group(pid),
        None => Target::Process(pid),
    }));
    let pumped = std::thread::scope(|scope| {
        let pumped = pump(&mut child, asked, recorder, scope);
        if pumped.is_err() {
            // Its output has no reader, and the waiter thread waits for its end.
            let _ = child.kill();
        }
        pumped
    });
    signals.go_to(None);
    let status = child.wait();
    let (not_passed, timed_out) = match pumped {
        Ok(pumped) => pumped,
        Err(error) => {
            let message = format!("the command was killed, since it cannot be followed: {error}");
            (Some(message), false)
        }
    };
    let status = match &status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => ExitStatus::Exit(code),
            (None, signal) => ExitStatus::Signal(signal.unwrap_or_default()),
        },
        Err(error) => ExitStatus::NotStarted(126, format!("its end cannot be waited for: {error}")),
    };
    Ended { status, timed_out, ms: 0, not_passed }
}

/// Passes output through until the process has ended. Returns the reason if that stopped early, and
/// `true` if the time limit was exceeded.
fn pump<'scope>(
    child: &mut Child,
    asked: &Asked<'_>,
    recorder: &mut Recorder,
    scope: &'scope Scope<'scope, '_>,
) -> io::Result<(Option<String>, bool)> {
    let pid = Pid::from_child(child);
    let (over, ended) = io::pipe()?;
    let (tell, told) = channel();
    let mut pump = Tee::of(child, asked.to_stderr)?;
    let grace = asked.grace;
    let timer = asked.timeout.map(|limit| {
        let timer = Builder::new().name("milepost-run-time".into());
        timer.spawn_scoped(scope, move || time(pid, limit, grace, &told))
    });
    let timer = timer.transpose()?;
    wait_in(scope, pid, ended, tell)?;
    pump.run(&over, recorder);
    let timed_out = timer.map(ScopedJoinHandle::join);
    Ok((pump.not_passed, matches!(timed_out, Some(Ok(true)))))
}

/// Starts the waiter thread. It drops `ended` and `tell` when the process has ended.
fn wait_in<'scope>(
    scope: &'scope Scope<'scope, '_>,
    pid: Pid,
    ended: PipeWriter,
    tell: Sender<()>,
) -> io::Result<()> {
    let waiter = Builder::new().name("milepost-run-wait".into());
    waiter.spawn_scoped(scope, move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
        drop((ended, tell));
    })?;
    Ok(())
}

/// Runs the timer. Returns `true` if the time limit was reached before the end.
fn time(pid: Pid, limit: Duration, grace: Duration, told: &Receiver<()>) -> bool {
    let goes_on = |at_most| matches!(told.recv_timeout(at_most), Err(RecvTimeoutError::Timeout));
    if !goes_on(limit) {
        return false;
    }
    // A stopped process handles SIGTERM only after SIGCONT.
    for signal in [Signal::TERM, Signal::CONT] {
        let _ = kill_process_group(pid, signal);
    }
    goes_on(grace);
    let _ = kill_process_group(pid, Signal::KILL);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_does_not_end_when_asked_is_killed() {
        let script = "trap '' TERM; while :; do sleep 1; done";
        let argv = ["sh", "-c", script].map(OsString::from);
        let asked = Asked {
            argv: &argv,
            folder: Path::new("/"),
            store: Path::new("/"),
            // Long enough for the script to set its trap.
            timeout: Some(Duration::from_secs(1)),
            grace: Duration::from_millis(100),
            pass_key: false,
            to_stderr: true,
        };
        let ended = run(
            &asked,
            &Taken::new().unwrap(),
            &mut Recorder::new(100, secrets::Secrets::default()),
        );
        assert_eq!((ended.status, ended.timed_out), (ExitStatus::Signal(9), true));
    }
}
