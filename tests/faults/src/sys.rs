//! System calls, past everything that may be in front of them.

use std::ffi::CStr;

use libc::{c_char, c_int, c_long, c_void};

/// Sets the caller's error, and returns the result of a failed call.
pub(crate) fn error(errno: c_int) -> c_int {
    // SAFETY: the location is this thread's own and always there.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// The error of the last call.
pub(crate) fn errno() -> c_int {
    // SAFETY: the location is this thread's own and always there.
    unsafe { *libc::__errno_location() }
}

/// A system call by its number, as `syscall` of libc does it, which this library takes the place
/// of.
///
/// # Safety
///
/// As the call of this number.
pub(crate) unsafe fn call(number: c_long, with: [c_long; 6]) -> c_long {
    let [a, b, c, d, e, f] = with;
    let done: c_long;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as the caller has it; the kernel changes these registers and no others.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => done,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as the caller has it; the kernel changes these registers and no others.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => done,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    match done {
        -4095..=-1 => c_long::from(error(-done as c_int)),
        done => done,
    }
}

/// Writes all of it, or as much as can be.
pub(crate) fn write_all(fd: c_int, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the pointer and the length are those of a slice.
        let done = unsafe { libc::syscall(libc::SYS_write, fd, bytes.as_ptr(), bytes.len()) };
        match usize::try_from(done) {
            Ok(done) => bytes = bytes.get(done..).unwrap_or_default(),
            Err(_) if errno() == libc::EINTR => {}
            Err(_) => return,
        }
    }
}

/// Opens a file.
pub(crate) fn openat(dir: c_int, path: &CStr, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the path ends in a zero byte and is only read.
    let fd = unsafe { libc::syscall(libc::SYS_openat, dir, path.as_ptr(), flags, mode) };
    fd as c_int
}

/// Returns `true` if a path exists; links are not followed.
pub(crate) fn is_there(dir: c_int, path: &CStr) -> bool {
    stat_at(dir, path, libc::AT_SYMLINK_NOFOLLOW).is_some()
}

/// Returns the status of a path.
pub(crate) fn stat_at(dir: c_int, path: &CStr, flags: c_int) -> Option<libc::stat> {
    // SAFETY: all bytes may be zero in a `stat`, which is plain numbers.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends in a zero byte, the `stat` is large enough and ours.
    let done = unsafe { libc::fstatat(dir, path.as_ptr(), &raw mut stat, flags) };
    (done == 0).then_some(stat)
}

/// Returns the status of a descriptor.
pub(crate) fn stat(fd: c_int) -> Option<libc::stat> {
    // SAFETY: all bytes may be zero in a `stat`, which is plain numbers.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the `stat` is large enough and ours.
    (unsafe { libc::fstat(fd, &raw mut stat) } == 0).then_some(stat)
}

/// Returns the position of a descriptor in its file.
pub(crate) fn position(fd: c_int) -> u64 {
    // SAFETY: only numbers are passed.
    let at = unsafe { libc::syscall(libc::SYS_lseek, fd, 0_i64, libc::SEEK_CUR) };
    u64::try_from(at).unwrap_or(0)
}

/// Reads the target of a link into the given bytes.
pub(crate) fn readlink<'a>(path: &CStr, into: &'a mut [u8]) -> Option<&'a [u8]> {
    let len = into.len();
    let to: *mut c_char = into.as_mut_ptr().cast();
    // SAFETY: the path ends in a zero byte, and no more than `len` bytes are written.
    let done =
        unsafe { libc::syscall(libc::SYS_readlinkat, libc::AT_FDCWD, path.as_ptr(), to, len) };
    usize::try_from(done).ok().and_then(|done| into.get(..done))
}

/// Maps a file's first bytes, shared with other processes.
pub(crate) fn map(fd: c_int, len: usize) -> Option<*mut c_void> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses where; nothing that is mapped is replaced.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, 0) };
    (at != libc::MAP_FAILED).then_some(at)
}

/// Sleeps for a millisecond, between two checks for a file.
pub(crate) fn pause_a_little() {
    let wait = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    // SAFETY: the time to wait is read, and what is left of it is not asked for.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const wait, 0) };
}

/// Ends the process as a kill from outside does.
pub(crate) fn die() -> ! {
    // SAFETY: only numbers are passed.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    loop {
        // SAFETY: it has no arguments.
        unsafe { libc::pause() };
    }
}
