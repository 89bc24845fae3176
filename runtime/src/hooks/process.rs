//! Runs a program with one document on its standard input and a time limit, and keeps a bounded
//! part of its standard error.
//!
//! A run uses three threads. The caller waits for the end or the time limit. The waiter starts the
//! process and waits for its end. It reaps the process only when the caller is done, so that a
//! killed process id never belongs to another process. The pump writes standard input and drains
//! standard error without blocking on either.

use std::fmt;
use std::io::{self, PipeReader, Read, Write};
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, Command, Stdio};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use milepost::internals::threads;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};

/// Maximum bytes of standard error to keep.
const STDERR_MAX: usize = 1024;

/// Approximate capacity of a pipe, and size of one read. At most one read follows the end.
const PIPE: usize = 64 << 10;

/// Time for a killed process to end before the caller stops waiting.
const GONE: Duration = Duration::from_secs(1);

/// Environment variable of the process with the name of its hook point.
pub(super) const VARIABLE: &str = "MILEPOST_HOOK";

/// Failure of a run.
#[derive(Debug)]
pub(super) struct Failed {
    how: String,
    output: String,
}

impl Failed {
    /// Returns the program's own message, or how it ended if there is none.
    pub(super) fn reason(&self) -> &str {
        match self.output.is_empty() {
            true => &self.how,
            false => &self.output,
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { how, output } = self;
        match output.is_empty() {
            true => f.write_str(how),
            false => write!(f, "{how}: {output}"),
        }
    }
}

/// A running process.
struct Started {
    pid: Pid,
    stdin: Option<ChildStdin>,
    stderr: Option<ChildStderr>,
}

/// Runs a program to its end. After `limit` its process group is killed.
pub(super) fn run(
    argv: &[String],
    (hook, store): (&str, Option<&Path>),
    document: &[u8],
    limit: Duration,
) -> Result<(), Failed> {
    let failed = |what: &str, error: &dyn fmt::Display| Failed {
        how: format!("{what}: {error}"),
        output: String::new(),
    };
    let (start, started) = bounded(1);
    let (end, ended) = bounded(1);
    let (release, released) = bounded(0);
    let command = command(argv, hook, store);
    threads::start("hook-wait", move || wait(command, &start, &end, &released))
        .map_err(|e| Failed { how: e.to_string(), output: String::new() })?;
    let started = match started.recv() {
        Ok(Ok(started)) => started,
        Ok(Err(e)) => return Err(failed("cannot be started", &e)),
        Err(e) => return Err(failed("cannot be started", &e)),
    };
    let pid = started.pid;
    let (quit, over) = match io::pipe() {
        Ok((over, quit)) => (quit, over),
        Err(e) => {
            let _ = kill_process_group(pid, Signal::KILL);
            return Err(failed("cannot be told anything", &e));
        }
    };
    let (how, output) = std::thread::scope(|scope| {
        let pump =
            threads::start_in(scope, "hook-pump", move || pump_all(started, document, &over));
        // A process that ends by itself may leave children; a killed one may not.
        let stop = || {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = ended.recv_timeout(GONE);
        };
        let how = match &pump {
            Err(e) => {
                stop();
                Some(e.to_string())
            }
            Ok(_) => match ended.recv_timeout(limit) {
                Ok(how) => how,
                Err(_) => {
                    stop();
                    Some(format!("took longer than {} ms", limit.as_millis()))
                }
            },
        };
        drop(quit);
        let output = pump.ok().and_then(|pump| pump.join().ok());
        (how, output.unwrap_or_default())
    });
    drop(release);
    match how {
        None => Ok(()),
        Some(how) => Err(Failed { how, output: clean(&output) }),
    }
}

fn command(argv: &[String], hook: &str, store: Option<&Path>) -> Command {
    use std::os::unix::process::CommandExt;
    let (program, args) = argv.split_first().map_or(("", &[] as &[String]), |(p, a)| (p, a));
    let mut command = Command::new(program);
    command
        .args(args)
        .env(VARIABLE, hook)
        // `milepost` within it reads the store that the environment names.
        .env_remove("MILEPOST_SERVER")
        .envs(store.map(|store| ("MILEPOST_STORE", store)))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}

/// Runs the waiter thread.
fn wait(
    mut command: Command,
    start: &Sender<io::Result<Started>>,
    end: &Sender<Option<String>>,
    released: &Receiver<()>,
) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let _ = start.send(Err(error));
            return;
        }
    };
    let pid = Pid::from_child(&child);
    let started = Started { pid, stdin: child.stdin.take(), stderr: child.stderr.take() };
    let _ = start.send(Ok(started));
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let status = loop {
        match waitid(WaitId::Pid(pid), options) {
            Err(Errno::INTR) => {}
            status => break status.ok().flatten(),
        }
    };
    // The status points into memory of the C library, and stays on this thread.
    let _ = end.send(failure(status.as_ref()));
    let _ = released.recv();
    let _ = child.wait();
}

/// Returns why an exit status is a failure.
fn failure(status: Option<&WaitIdStatus>) -> Option<String> {
    let Some(status) = status else {
        return Some("its end could not be waited for".into());
    };
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("ended with exit code {code}")),
        (None, Some(signal)) => Some(format!("was ended by signal {signal}")),
        (None, None) => Some("ended with an unknown status".into()),
    }
}

/// Runs the pump until both pipes are closed, or the other end of `over` is dropped. Returns the
/// beginning of standard error.
fn pump_all(started: Started, document: &[u8], over: &PipeReader) -> Vec<u8> {
    let Started { stdin, stderr, .. } = started;
    let (mut stdin, mut stderr) = (stdin, stderr);
    let mut remaining = document;
    let mut output = Vec::new();
    for fd in [stdin.as_ref().map(nonblocking), stderr.as_ref().map(nonblocking)] {
        if fd == Some(false) {
            // A blocking pipe could block for ever.
            return output;
        }
    }
    let mut buffer = vec![0; PIPE];
    loop {
        let mut fds = vec![PollFd::new(over, PollFlags::IN)];
        fds.extend(stdin.iter().map(|fd| PollFd::new(fd, PollFlags::OUT)));
        fds.extend(stderr.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return output,
        }
        let is_closed = fds.first().is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        if let Some(reader) = &mut stderr {
            match reader.read(&mut buffer) {
                Ok(0) => stderr = None,
                Ok(count) => {
                    let capacity = STDERR_MAX - output.len().min(STDERR_MAX);
                    output.extend(buffer.iter().take(count.min(capacity)));
                }
                Err(e) if is_later(&e) => {}
                Err(_) => stderr = None,
            }
        }
        if is_closed {
            return output;
        }
        if let Some(writer) = &mut stdin {
            match writer.write(remaining) {
                Ok(count) => remaining = remaining.get(count..).unwrap_or_default(),
                Err(e) if is_later(&e) => {}
                // A program that does not read its input has not failed.
                Err(_) => remaining = &[],
            }
            if remaining.is_empty() {
                stdin = None;
            }
        }
    }
}

fn nonblocking(fd: &impl std::os::fd::AsFd) -> bool {
    rustix::io::ioctl_fionbio(fd, true).is_ok()
}

fn is_later(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::WouldBlock || kind == io::ErrorKind::Interrupted
}

/// Formats a program's output for a message: on one line, without control characters.
fn clean(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let words = text.split_whitespace().map(|word| {
        let plain = word.chars().filter(|c| !c.is_control());
        plain.collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn sh(script: &str, document: &[u8], limit: Duration) -> Result<(), Failed> {
        let argv = ["sh", "-c", script].map(str::to_owned);
        run(&argv, ("event", None), document, limit)
    }

    #[test]
    fn a_program_that_ends_well_is_done() {
        assert!(sh("test \"$(cat)\" = hello", b"hello", LONG).is_ok());
        assert!(sh("test \"$MILEPOST_HOOK\" = event", b"", LONG).is_ok());
    }

    #[test]
    fn a_failure_says_how_it_ended_and_what_it_said() {
        let failed = sh("printf 'no\\033[1m such\\n thing' >&2; exit 3", b"", LONG).unwrap_err();
        assert_eq!(failed.reason(), "no[1m such thing");
        assert_eq!(failed.to_string(), "ended with exit code 3: no[1m such thing");
        let failed = sh("kill -9 $$", b"", LONG).unwrap_err();
        assert_eq!(failed.reason(), "was ended by signal 9");
        let argv = ["/nowhere/at/all".to_owned()];
        let failed = run(&argv, ("event", None), b"", LONG).unwrap_err();
        assert!(failed.reason().starts_with("cannot be started: "), "{failed}");
    }

    #[test]
    fn a_document_that_nobody_reads_stops_nothing() {
        let document = vec![b'x'; 8 << 20];
        assert!(sh("exit 0", &document, LONG).is_ok());
        assert!(sh("exec 0<&-; sleep 0.01", &document, LONG).is_ok());
        let failed = sh("sleep 600", &document, Duration::from_millis(100));
        assert_eq!(failed.unwrap_err().reason(), "took longer than 100 ms");
    }

    #[test]
    fn what_a_program_prints_is_emptied_and_kept_to_a_bound() {
        let flood = "yes out | head -c 20000000; yes err | head -c 20000000 >&2; cat; exit 1";
        let failed = sh(flood, &vec![b'x'; 1 << 20], LONG).unwrap_err();
        assert!(failed.output.starts_with("err err "), "{failed}");
        assert!(failed.output.len() <= STDERR_MAX, "{}", failed.output.len());
    }

    #[test]
    fn who_keeps_standard_error_open_behind_the_end_keeps_nobody() {
        // The remaining child holds the pipes open; waiting for it would take 600 seconds.
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}", pid.display());
        assert!(sh(&script, &vec![b'x'; 1 << 20], LONG).is_ok());
        let remaining: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
        let remaining = Pid::from_raw(remaining).unwrap();
        // It keeps running, since the program ended by itself.
        rustix::process::kill_process(remaining, Signal::KILL).unwrap();
    }
}
