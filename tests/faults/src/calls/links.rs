//! Links, bits of files, and the sync of a whole file system. They fail when they are told to; a trace does not
//! show them.

use std::ffi::CStr;

use libc::{c_char, c_int, c_long, mode_t};

use super::{lock, verdict, watched};
use crate::config;
use crate::decide::{Class, Verdict, decide};
use crate::place;
use crate::sys;

/// A call on a name that is made, or whose file is changed.
fn on_name(dir: c_int, path: *const c_char, class: Class, real: impl Fn() -> c_long) -> c_int {
    // SAFETY: the caller gives a path that ends in a zero byte.
    let path = unsafe { CStr::from_ptr(path) };
    let config = config::get().filter(|config| place::of_path(config, dir, path).is_some());
    let Some(config) = config else {
        return real() as c_int;
    };
    let _lock = lock();
    match decide(config, class) {
        Verdict::Error(errno) => sys::error(errno),
        _ => real() as c_int,
    }
}

/// A call on an open file.
fn on_file(fd: c_int, class: Class, real: impl Fn() -> c_long) -> c_int {
    let Some((config, open)) = watched(fd) else {
        return real() as c_int;
    };
    let _lock = lock();
    match verdict(config, &open, class) {
        Verdict::Error(errno) => sys::error(errno),
        _ => real() as c_int,
    }
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
    on_name(to_dir, to, Class::Link, || {
        // SAFETY: as the caller has it.
        unsafe { libc::syscall(libc::SYS_linkat, from_dir, from, to_dir, to, flags) }
    })
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
    on_name(dir, path, Class::Link, || {
        // SAFETY: as the caller has it.
        unsafe { libc::syscall(libc::SYS_symlinkat, target, dir, path) }
    })
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chmod(path: *const c_char, mode: mode_t) -> c_int {
    on_name(libc::AT_FDCWD, path, Class::Mode, || {
        // SAFETY: as the caller has it.
        unsafe { libc::syscall(libc::SYS_fchmodat, libc::AT_FDCWD, path, mode) }
    })
}

/// Sets the bits of an open file.
#[unsafe(no_mangle)]
pub extern "C" fn fchmod(fd: c_int, mode: mode_t) -> c_int {
    on_file(fd, Class::Mode, || {
        // SAFETY: only numbers are passed.
        unsafe { libc::syscall(libc::SYS_fchmod, fd, mode) }
    })
}

/// Stores all of a file system.
#[unsafe(no_mangle)]
pub extern "C" fn syncfs(fd: c_int) -> c_int {
    on_file(fd, Class::Sync, || {
        // SAFETY: only numbers are passed.
        unsafe { libc::syscall(libc::SYS_syncfs, fd) }
    })
}
