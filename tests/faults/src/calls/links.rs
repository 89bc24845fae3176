//! Links, bits of files, and the sync of a whole file system.

use std::ffi::CStr;

use libc::{c_char, c_int, c_long, mode_t};

use super::{lock, verdict, watched};
use crate::config::{self, Config};
use crate::decide::{Class, Verdict, decide};
use crate::place;
use crate::sys;
use crate::trace::{What, note};

/// Returns the place of a path, if it is observed.
///
/// # Safety
///
/// The path ends in a zero byte.
unsafe fn place_of(dir: c_int, path: *const c_char) -> Option<(&'static Config, Vec<u8>)> {
    // SAFETY: as the caller has it.
    let path = unsafe { CStr::from_ptr(path) };
    let config = config::get()?;
    Some((config, place::of_path(config, dir, path)?))
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linkat(
    from_dir: c_int,
    from: *const c_char,
    to_dir: c_int,
    to: *const c_char,
    flags: c_int,
) -> c_int {
    let real = || {
        // SAFETY: as the caller has it.
        unsafe { libc::syscall(libc::SYS_linkat, from_dir, from, to_dir, to, flags) as c_int }
    };
    // SAFETY: the caller gives paths that end in a zero byte.
    let (old, new) = unsafe { (place_of(from_dir, from), place_of(to_dir, to)) };
    let Some((config, new)) = new else {
        return real();
    };
    let _lock = lock();
    if let Verdict::Error(errno) = decide(config, Class::Link) {
        return sys::error(errno);
    }
    let done = real();
    if let (0, Some((_, old))) = (done, old) {
        note(config, What::Link, (0, 0), (&old, &new));
    }
    done
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symlinkat(
    target: *const c_char,
    dir: c_int,
    path: *const c_char,
) -> c_int {
    let real = || {
        // SAFETY: as the caller has it.
        unsafe { libc::syscall(libc::SYS_symlinkat, target, dir, path) as c_int }
    };
    // SAFETY: the caller gives a path that ends in a zero byte.
    let Some((config, name)) = (unsafe { place_of(dir, path) }) else {
        return real();
    };
    let _lock = lock();
    if let Verdict::Error(errno) = decide(config, Class::Link) {
        return sys::error(errno);
    }
    let done = real();
    if done == 0 {
        // SAFETY: the caller gives a target that ends in a zero byte.
        let target = unsafe { CStr::from_ptr(target) };
        note(config, What::Symlink, (0, 0), (&name, target.to_bytes()));
    }
    done
}

/// Notes the bits that a file or folder has now.
fn note_bits(config: &Config, stat: Option<libc::stat>) {
    if let Some(stat) = stat {
        let numbers = (stat.st_ino, u64::from(stat.st_mode));
        note(config, What::Mode, numbers, (b"", b""));
    }
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chmod(path: *const c_char, mode: mode_t) -> c_int {
    let real = || {
        // SAFETY: as the caller has it.
        unsafe { libc::syscall(libc::SYS_fchmodat, libc::AT_FDCWD, path, mode) as c_int }
    };
    // SAFETY: the caller gives a path that ends in a zero byte.
    let Some((config, _)) = (unsafe { place_of(libc::AT_FDCWD, path) }) else {
        return real();
    };
    let _lock = lock();
    if let Verdict::Error(errno) = decide(config, Class::Mode) {
        return sys::error(errno);
    }
    let done = real();
    if done == 0 {
        // SAFETY: the caller gives a path that ends in a zero byte.
        let path = unsafe { CStr::from_ptr(path) };
        note_bits(config, sys::stat_at(libc::AT_FDCWD, path, 0));
    }
    done
}

/// Sets the bits of an open file.
#[unsafe(no_mangle)]
pub extern "C" fn fchmod(fd: c_int, mode: mode_t) -> c_int {
    let real = || {
        let with = [c_long::from(fd), c_long::from(mode), 0, 0, 0, 0];
        // SAFETY: only numbers are passed.
        unsafe { sys::call(libc::SYS_fchmod, with) as c_int }
    };
    let Some((config, open)) = watched(fd) else {
        return real();
    };
    let _lock = lock();
    if let Verdict::Error(errno) = verdict(config, &open, Class::Mode) {
        return sys::error(errno);
    }
    let done = real();
    if done == 0 {
        note_bits(config, sys::stat(fd));
    }
    done
}

/// Any call by its number. One of the intercepted ones is made by its number from Rust: `fchmod`.
///
/// # Safety
///
/// As the call of this number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if number == libc::SYS_fchmod {
        return c_long::from(fchmod(a as c_int, b as mode_t));
    }
    // SAFETY: as the caller has it.
    unsafe { sys::call(number, [a, b, c, d, e, f]) }
}

/// Stores all of a file system.
#[unsafe(no_mangle)]
pub extern "C" fn syncfs(fd: c_int) -> c_int {
    let real = || {
        // SAFETY: only numbers are passed.
        unsafe { libc::syscall(libc::SYS_syncfs, fd) as c_int }
    };
    let Some((config, open)) = watched(fd) else {
        return real();
    };
    let _lock = lock();
    if let Verdict::Error(errno) = verdict(config, &open, Class::Sync) {
        note(config, What::SyncAllFailed, (0, 0), (b"", b""));
        return sys::error(errno);
    }
    if config.nosync {
        return 0;
    }
    let done = real();
    if done == 0 {
        note(config, What::SyncAll, (0, 0), (b"", b""));
    }
    done
}
