//! Calls on the content of a file: writes, reads, syncs and lengths.

use libc::{c_int, c_long, c_uint, c_void, iovec, off_t, size_t, ssize_t};

use super::{lock, verdict, watched};
use crate::decide::{Class, Verdict};
use crate::sys;
use crate::trace::{What, note};

/// A write, by any call: `real` writes at most a number of bytes, from `bytes`.
fn write_by(fd: c_int, bytes: &[u8], at: Option<u64>, real: impl Fn(usize) -> c_long) -> ssize_t {
    let Some((config, open)) = watched(fd) else {
        return real(bytes.len()) as ssize_t;
    };
    let _lock = lock();
    let len = match verdict(config, &open, Class::Write) {
        Verdict::Error(errno) => return sys::error(errno) as ssize_t,
        Verdict::Half => bytes.len().div_ceil(2),
        Verdict::Go => bytes.len(),
    };
    let done = real(len);
    if let Ok(count) = usize::try_from(done) {
        let at = at.unwrap_or_else(|| sys::position(fd).saturating_sub(count as u64));
        let written = bytes.get(..count).unwrap_or_default();
        note(config, What::Write, (open.inode, at), (written, b""));
    }
    done as ssize_t
}

/// Returns the bytes that a caller passes to a write; an empty slice for any pointer if the length
/// is 0.
///
/// # Safety
///
/// There are `len` bytes to be read, for as long as the result is used.
unsafe fn given<'a>(from: *const c_void, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: as the caller has it.
    unsafe { std::slice::from_raw_parts(from.cast::<u8>(), len) }
}

/// A read, by whatever call.
fn read_by(fd: c_int, len: usize, real: impl Fn(usize) -> c_long) -> ssize_t {
    let Some((config, open)) = watched(fd) else {
        return real(len) as ssize_t;
    };
    let _lock = lock();
    match verdict(config, &open, Class::Read) {
        Verdict::Error(errno) => sys::error(errno) as ssize_t,
        Verdict::Half => real(len.div_ceil(2)) as ssize_t,
        Verdict::Go => real(len) as ssize_t,
    }
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, from: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: as the caller has it.
    let bytes = unsafe { given(from, len) };
    write_by(fd, bytes, None, |len| {
        // SAFETY: no more than the caller gave is read.
        unsafe { libc::syscall(libc::SYS_write, fd, from, len) }
    })
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(
    fd: c_int,
    from: *const c_void,
    len: size_t,
    at: off_t,
) -> ssize_t {
    // SAFETY: as the caller has it.
    let bytes = unsafe { given(from, len) };
    write_by(fd, bytes, u64::try_from(at).ok(), |len| {
        // SAFETY: no more than the caller gave is read.
        unsafe { libc::syscall(libc::SYS_pwrite64, fd, from, len, at) }
    })
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(fd: c_int, from: *const c_void, len: size_t, at: off_t) -> ssize_t {
    // SAFETY: as the caller has it.
    unsafe { pwrite64(fd, from, len, at) }
}

/// Writes the first buffer that is not empty: the caller continues after the bytes that were
/// written.
///
/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t {
    if watched(fd).is_none() {
        // SAFETY: as the caller has it.
        return unsafe { libc::syscall(libc::SYS_writev, fd, from, count) } as ssize_t;
    }
    // SAFETY: the caller gives so many buffers to be read.
    match unsafe { first_buffer(from, count) } {
        // SAFETY: the buffer is one of the caller's.
        Some(buffer) => unsafe { write(fd, buffer.iov_base, buffer.iov_len) },
        None => 0,
    }
}

/// As [`writev`].
///
/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwritev(
    fd: c_int,
    from: *const iovec,
    count: c_int,
    at: off_t,
) -> ssize_t {
    // SAFETY: the caller gives so many buffers to be read.
    match unsafe { first_buffer(from, count) } {
        // SAFETY: the buffer is one of the caller's.
        Some(buffer) => unsafe { pwrite64(fd, buffer.iov_base, buffer.iov_len, at) },
        None => 0,
    }
}

/// # Safety
///
/// There are `count` buffers at `from`.
unsafe fn first_buffer(from: *const iovec, count: c_int) -> Option<iovec> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: as the caller has it.
    let buffers = unsafe { std::slice::from_raw_parts(from, count) };
    buffers.iter().find(|buffer| buffer.iov_len > 0).copied()
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, into: *mut c_void, len: size_t) -> ssize_t {
    read_by(fd, len, |len| {
        // SAFETY: no more than the caller has room for is read.
        unsafe { libc::syscall(libc::SYS_read, fd, into, len) }
    })
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread64(fd: c_int, into: *mut c_void, len: size_t, at: off_t) -> ssize_t {
    read_by(fd, len, |len| {
        // SAFETY: no more than the caller has room for is read.
        unsafe { libc::syscall(libc::SYS_pread64, fd, into, len, at) }
    })
}

/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread(fd: c_int, into: *mut c_void, len: size_t, at: off_t) -> ssize_t {
    // SAFETY: as the caller has it.
    unsafe { pread64(fd, into, len, at) }
}

fn sync_by(fd: c_int, call: c_long) -> c_int {
    let real = || {
        // SAFETY: only numbers are passed.
        unsafe { libc::syscall(call, fd) as c_int }
    };
    let Some((config, open)) = watched(fd) else {
        return real();
    };
    if let Some(hold) = &config.hold {
        while sys::is_there(libc::AT_FDCWD, hold) {
            sys::pause_a_little();
        }
    }
    let _lock = lock();
    if let Verdict::Error(errno) = verdict(config, &open, Class::Sync) {
        note(config, What::SyncFailed, (open.inode, 0), (b"", b""));
        return sys::error(errno);
    }
    if config.nosync {
        return 0;
    }
    let done = real();
    if done == 0 {
        let what = match call {
            _ if open.is_dir => What::SyncDir,
            libc::SYS_fdatasync => What::SyncData,
            _ => What::Sync,
        };
        note(config, what, (open.inode, 0), (&open.path, b""));
    }
    done
}

/// Stores a file.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(fd: c_int) -> c_int {
    sync_by(fd, libc::SYS_fsync)
}

/// Stores a file's contents and length.
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync_by(fd, libc::SYS_fdatasync)
}

/// Begins to store contents. It is not a sync: the disk's cache is not flushed, and the file's
/// length is not stored.
#[unsafe(no_mangle)]
pub extern "C" fn sync_file_range(fd: c_int, at: off_t, len: off_t, flags: c_uint) -> c_int {
    let real = || {
        // SAFETY: only numbers are passed.
        unsafe { libc::syscall(libc::SYS_sync_file_range, fd, at, len, flags) as c_int }
    };
    let Some((config, open)) = watched(fd) else {
        return real();
    };
    let _lock = lock();
    match verdict(config, &open, Class::Range) {
        Verdict::Error(errno) => sys::error(errno),
        _ if config.nosync => 0,
        _ => real(),
    }
}

/// A change of length, done by `real`; its effect is read afterwards.
fn length_by(fd: c_int, real: impl Fn() -> c_long) -> c_int {
    let Some((config, open)) = watched(fd) else {
        return real() as c_int;
    };
    let _lock = lock();
    if let Verdict::Error(errno) = verdict(config, &open, Class::Truncate) {
        return sys::error(errno);
    }
    let done = real() as c_int;
    if let (0, Some(stat)) = (done, sys::stat(fd)) {
        let len = u64::try_from(stat.st_size).unwrap_or(0);
        note(config, What::Truncate, (open.inode, len), (b"", b""));
    }
    done
}

/// Sets a file's length.
#[unsafe(no_mangle)]
pub extern "C" fn ftruncate64(fd: c_int, len: off_t) -> c_int {
    length_by(fd, || {
        // SAFETY: only numbers are passed.
        unsafe { libc::syscall(libc::SYS_ftruncate, fd, len) }
    })
}

/// Sets a file's length.
#[unsafe(no_mangle)]
pub extern "C" fn ftruncate(fd: c_int, len: off_t) -> c_int {
    ftruncate64(fd, len)
}

/// Reserves room in a file.
#[unsafe(no_mangle)]
pub extern "C" fn fallocate64(fd: c_int, mode: c_int, at: off_t, len: off_t) -> c_int {
    length_by(fd, || {
        // SAFETY: only numbers are passed.
        unsafe { libc::syscall(libc::SYS_fallocate, fd, mode, at, len) }
    })
}

/// Reserves room in a file.
#[unsafe(no_mangle)]
pub extern "C" fn fallocate(fd: c_int, mode: c_int, at: off_t, len: off_t) -> c_int {
    fallocate64(fd, mode, at, len)
}

/// Missing for observed files: the caller then copies by reading and writing.
///
/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn copy_file_range(
    from: c_int,
    from_at: *mut off_t,
    to: c_int,
    to_at: *mut off_t,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    if watched(to).is_some() {
        return sys::error(libc::ENOSYS) as ssize_t;
    }
    let call = libc::SYS_copy_file_range;
    // SAFETY: as the caller has it.
    unsafe { libc::syscall(call, from, from_at, to, to_at, len, flags) as ssize_t }
}

/// Missing for observed files.
///
/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile64(
    to: c_int,
    from: c_int,
    at: *mut off_t,
    len: size_t,
) -> ssize_t {
    if watched(to).is_some() {
        return sys::error(libc::EINVAL) as ssize_t;
    }
    // SAFETY: as the caller has it.
    unsafe { libc::syscall(libc::SYS_sendfile, to, from, at, len) as ssize_t }
}

/// Missing for observed files.
///
/// # Safety
///
/// As the call of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile(to: c_int, from: c_int, at: *mut off_t, len: size_t) -> ssize_t {
    // SAFETY: as the caller has it.
    unsafe { sendfile64(to, from, at, len) }
}
