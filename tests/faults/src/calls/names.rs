//! Calls on names: opening, making, renaming and removing.

use std::ffi::CStr;

use libc::{c_char, c_int, c_long, c_uint, mode_t};

use super::lock;
use crate::config;
use crate::decide::{Class, Verdict, decide};
use crate::place;
use crate::sys;
use crate::trace::{What, note};

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: the caller gives a path that ends in a zero byte.
    let path = unsafe { CStr::from_ptr(path) };
    let config = config::get();
    let place = config.and_then(|config| Some((config, place::of_path(config, dir, path)?)));
    let Some((config, name)) = place else {
        return sys::openat(dir, path, flags, mode);
    };
    let _lock = lock();
    if !place::spared(&name)
        && let Verdict::Error(errno) = decide(config, Class::Open)
    {
        return sys::error(errno);
    }
    let was_there = sys::is_there(dir, path);
    let fd = sys::openat(dir, path, flags, mode);
    if fd >= 0
        && let Some(stat) = sys::stat(fd)
    {
        if flags & libc::O_CREAT != 0 && !was_there {
            let numbers = (stat.st_ino, u64::from(stat.st_mode));
            note(config, What::Create, numbers, (&name, b""));
        } else if flags & libc::O_TRUNC != 0 && flags & libc::O_ACCMODE != libc::O_RDONLY {
            note(config, What::Truncate, (stat.st_ino, 0), (b"", b""));
        }
    }
    fd
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: as the caller has it.
    unsafe { openat64(dir, path, flags, mode) }
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller has it.
    unsafe { openat64(libc::AT_FDCWD, path, flags, mode) }
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller has it.
    unsafe { openat64(libc::AT_FDCWD, path, flags, mode) }
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn creat(path: *const c_char, mode: mode_t) -> c_int {
    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
    // SAFETY: as the caller has it.
    unsafe { openat64(libc::AT_FDCWD, path, flags, mode) }
}

/// A call on a name: `real` does it.
fn name_by(dir: c_int, path: &CStr, class: Class, what: What, real: impl Fn() -> c_long) -> c_int {
    let config = config::get();
    let place = config.and_then(|config| Some((config, place::of_path(config, dir, path)?)));
    let Some((config, name)) = place else {
        return real() as c_int;
    };
    let _lock = lock();
    if let Verdict::Error(errno) = decide(config, class) {
        return sys::error(errno);
    }
    let done = real() as c_int;
    if done == 0 {
        // A removed name has no inode any more.
        let made = match what {
            What::Mkdir => sys::stat_at(dir, path, libc::AT_SYMLINK_NOFOLLOW),
            _ => None,
        };
        let numbers = made.map_or((0, 0), |stat| (stat.st_ino, u64::from(stat.st_mode)));
        note(config, what, numbers, (&name, b""));
    }
    done
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn renameat2(
    from_dir: c_int,
    from: *const c_char,
    to_dir: c_int,
    to: *const c_char,
    flags: c_uint,
) -> c_int {
    let real = || {
        // SAFETY: as the caller has it.
        unsafe { libc::syscall(libc::SYS_renameat2, from_dir, from, to_dir, to, flags) as c_int }
    };
    // SAFETY: the caller gives paths that end in a zero byte.
    let (old, new) = unsafe { (CStr::from_ptr(from), CStr::from_ptr(to)) };
    let names = config::get().and_then(|config| {
        let old = place::of_path(config, from_dir, old)?;
        Some((config, old, place::of_path(config, to_dir, new)?))
    });
    let Some((config, old, new)) = names else {
        return real();
    };
    if flags & config.refused != 0 {
        return sys::error(libc::EINVAL);
    }
    let _lock = lock();
    if let Verdict::Error(errno) = decide(config, Class::Rename) {
        return sys::error(errno);
    }
    let done = real();
    if done == 0 {
        let what = match flags & libc::RENAME_EXCHANGE {
            0 => What::Rename,
            _ => What::Exchange,
        };
        note(config, what, (0, 0), (&old, &new));
    }
    done
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn renameat(
    from_dir: c_int,
    from: *const c_char,
    to_dir: c_int,
    to: *const c_char,
) -> c_int {
    // SAFETY: as the caller has it.
    unsafe { renameat2(from_dir, from, to_dir, to, 0) }
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: as the caller has it.
    unsafe { renameat2(libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0) }
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlinkat(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller gives a path that ends in a zero byte.
    let name = unsafe { CStr::from_ptr(path) };
    let what = if flags & libc::AT_REMOVEDIR == 0 { What::Unlink } else { What::Rmdir };
    name_by(dir, name, Class::Unlink, what, || {
        // SAFETY: as the caller has it.
        unsafe { libc::syscall(libc::SYS_unlinkat, dir, path, flags) }
    })
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: as the caller has it.
    unsafe { unlinkat(libc::AT_FDCWD, path, 0) }
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: as the caller has it.
    unsafe { unlinkat(libc::AT_FDCWD, path, libc::AT_REMOVEDIR) }
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mkdirat(dir: c_int, path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller gives a path that ends in a zero byte.
    let name = unsafe { CStr::from_ptr(path) };
    name_by(dir, name, Class::Mkdir, What::Mkdir, || {
        // SAFETY: as the caller has it.
        unsafe { libc::syscall(libc::SYS_mkdirat, dir, path, mode) }
    })
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: as the caller has it.
    unsafe { mkdirat(libc::AT_FDCWD, path, mode) }
}
