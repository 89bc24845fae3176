//! The calls of libc that this takes the place of.
//!
//! One lock is held around each: the trace is in the order in which the calls took effect. Those
//! that take a varying number of arguments in C are defined with the most they take, which is
//! called in the same way on the systems this runs on.

mod contents;
mod links;
mod names;

use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::c_int;

use crate::config::{self, Config};
use crate::decide::{Class, Verdict, decide};
use crate::place::{self, Open};

static LOCK: Mutex<()> = Mutex::new(());

fn lock() -> MutexGuard<'static, ()> {
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watched(fd: c_int) -> Option<(&'static Config, Open)> {
    let config = config::get()?;
    Some((config, place::of_fd(config, fd)?))
}

fn verdict(config: &Config, open: &Open, class: Class) -> Verdict {
    if open.spared() {
        return Verdict::Go;
    }
    decide(config, class)
}
