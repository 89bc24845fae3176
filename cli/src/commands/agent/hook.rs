//! `agent hook`: takes the document of a hook to the daemon, or else to the spool.
//!
//! Agents call it before and after each tool. Some refuse the call where a hook fails or says
//! something: so it always exits with 0, prints nothing but what the agent expects, and ends in
//! time. It is told apart before the arguments are parsed: a wrong option is no failure.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use milepost::clock::{Clock as _, SystemClock};
use milepost_agents::documents::is_of_cursor;
use milepost_agents::{Agent, HOOK_WAIT, HookCall, HookTimes, PROJECTS, Spool, TimedHook};
use milepost_api::HookTakenForm;
use milepost_workspace::PathBytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use super::daemon;
use super::project::environment;
use super::threads::within;
use crate::outside;

/// Longest time for all of it. Agents wait.
const LIMIT: Duration = Duration::from_millis(1900);

/// Longest wait for the end of the document.
const READ_LIMIT: Duration = Duration::from_millis(300);

/// Largest document that is read, in bytes.
const DOCUMENT_MAX: usize = 64 << 20;

/// Returns `true` for the arguments with which agents call this program.
pub fn is_call(arguments: &[OsString]) -> bool {
    matches!(arguments, [_, agent, hook, ..] if agent == "agent" && hook == "hook")
}

/// Answers an agent.
pub fn call(arguments: &[OsString]) {
    let name = arguments.get(3).map(|name| name.to_string_lossy().into_owned());
    take(&name.unwrap_or_default());
}

/// Takes the document on standard input.
pub(super) fn take(name: &str) {
    std::panic::set_hook(Box::new(|_| {}));
    hold_signals();
    let agent = Agent::of_name(name);
    let of_cursor = Arc::new(AtomicBool::new(false));
    let begin = SystemClock.now_us();
    let said = Arc::new(Mutex::new(None));
    let (own, to, is_other) = (name.to_owned(), Arc::clone(&said), Arc::clone(&of_cursor));
    within(LIMIT, move || {
        let taken = keep(&own, &is_other);
        if let Ok(mut to) = to.lock() {
            *to = taken;
        }
    });
    let taken = said.lock().ok().and_then(|mut said| said.take());
    let Some(agent) = agent else { return };
    let say = taken.as_ref().and_then(|taken| taken.say.as_deref());
    let is_of_cursor = of_cursor.load(Ordering::SeqCst);
    let answer = if is_of_cursor { Agent::Cursor } else { agent }.answer(say);
    // The agent may not read it.
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(answer.as_bytes()).and_then(|()| stdout.flush());
    if !is_of_cursor {
        note_time(agent, begin, taken.is_some());
    }
}

/// Notes how long the agent waited, for `agent status`.
fn note_time(agent: Agent, time_us: u64, is_taken: bool) {
    let took_us = SystemClock.now_us().saturating_sub(time_us);
    let took_us = u32::try_from(took_us).unwrap_or(u32::MAX);
    if let Some(times) = HookTimes::of(&environment()) {
        let _ = times.add(agent, TimedHook { time_us, took_us, is_taken });
    }
}

/// Keeps signals from ending the process: it ends by itself soon. A file that may not grow is an
/// error, and no end.
fn hold_signals() {
    for signal in [Signal::HUP, Signal::INT, Signal::TERM, Signal::XFSZ] {
        let came = Arc::new(AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal.as_raw(), came);
    }
}

/// Reads the document and has it recorded, or puts it into the spool. Returns the answer of the
/// daemon that took it. A document that Cursor gives to the hook of another agent is not kept:
/// `is_other` is set.
fn keep(name: &str, is_other: &AtomicBool) -> Option<HookTakenForm> {
    let (payload, is_cut) = document(std::io::stdin(), READ_LIMIT);
    if Agent::of_name(name) != Some(Agent::Cursor) && may_be_of_cursor(&payload, is_cut) {
        is_other.store(true, Ordering::SeqCst);
        return None;
    }
    if payload.is_empty() {
        return None;
    }
    let call = HookCall { agent: name.to_owned(), time_us: SystemClock.now_us(), payload, is_cut };
    // The folder may be gone.
    let named = || std::env::var_os("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
    let here = std::env::current_dir().ok().or_else(named).unwrap_or_else(|| "/".into());
    let mut asked = call.with(&here, |name| std::env::var_os(name));
    if let Some(project) = gone_project(&here) {
        asked.project = project;
    }
    match daemon::send(&asked, HOOK_WAIT) {
        Some(taken) => Some(taken),
        None => {
            // The spool counts what it cannot keep.
            let _ = Spool::of(&environment())?.put(&asked);
            None
        }
    }
}

/// Returns `true` for a document of Cursor. One that is missing or cut may be one where Cursor sets
/// its variable.
fn may_be_of_cursor(payload: &[u8], is_cut: bool) -> bool {
    match is_cut || payload.is_empty() {
        true => std::env::var_os("CURSOR_VERSION").is_some(),
        false => is_of_cursor(payload),
    }
}

/// Returns the project of a missing folder: a call removed it, and the nearest folder with a `.git`
/// is another project.
fn gone_project(here: &Path) -> Option<PathBytes> {
    let named = PROJECTS.iter().find_map(std::env::var_os).map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute());
    let folder = named.as_deref().unwrap_or(here);
    let has_store = |folder: &&Path| outside::store_of(folder).is_some_and(|store| store.is_dir());
    let project = folder.ancestors().take_while(|folder| !folder.exists()).find(has_store)?;
    Some(PathBytes::from(project.as_os_str().as_bytes()))
}

/// Reads a document to its end, or as much of it as comes within the limits. `true` if it was cut.
#[allow(clippy::disallowed_methods, reason = "the wait for another process, not a recorded time")]
fn document(from: impl AsFd, limit: Duration) -> (Vec<u8>, bool) {
    let end = Instant::now() + limit;
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { return (bytes, true) };
        match poll(&mut [PollFd::new(&from, PollFlags::IN)], Some(&left)) {
            Ok(0) => return (bytes, true),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return (bytes, true),
        }
        match rustix::io::read(&from, &mut piece) {
            Ok(0) => return (bytes, false),
            Ok(count) => bytes.extend_from_slice(piece.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(_) => return (bytes, true),
        }
        if bytes.len() >= DOCUMENT_MAX {
            return (bytes, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
        std::io::pipe().unwrap()
    }

    #[test]
    fn a_document_without_an_end_is_cut() {
        let (from, mut to) = pipe();
        to.write_all(b"{\"a\":").unwrap();
        assert_eq!(document(&from, Duration::from_millis(1)), (b"{\"a\":".to_vec(), true));
        drop(to);
        assert_eq!(document(&from, Duration::from_secs(600)), (Vec::new(), false));
    }

    #[test]
    fn only_the_arguments_of_agents_are_a_call() {
        let is = |line: &str| is_call(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for line in ["m agent hook", "m agent hook codex", "m agent hook --old -x y"] {
            assert!(is(line), "{line}");
        }
        for line in ["m", "m agent", "m agent status", "m hook agent", "m --json agent hook x"] {
            assert!(!is(line), "{line}");
        }
    }
}
