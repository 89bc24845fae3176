//! Configuration from the environment, read once.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use libc::{c_int, c_uint};

use crate::decide::{CLASSES, Fail};
use crate::sys;

/// Configuration of the library.
pub(crate) struct Config {
    /// The observed folder, without a slash at its end.
    pub(crate) dir: Vec<u8>,
    /// The trace, where one is written.
    pub(crate) record: Option<c_int>,
    pub(crate) fail: Option<Fail>,
    pub(crate) nosync: bool,
    /// Flags of `renameat2` that the file system says it does not know.
    pub(crate) refused: c_uint,
    /// While this is there, syncs wait.
    pub(crate) hold: Option<CString>,
    pub(crate) counts: &'static [AtomicU64; CLASSES],
}

static CONFIG: OnceLock<Option<Config>> = OnceLock::new();
static COUNTS: [AtomicU64; CLASSES] = [const { AtomicU64::new(0) }; CLASSES];

/// Returns the configuration; `None` if no folder is named.
pub(crate) fn get() -> Option<&'static Config> {
    CONFIG.get_or_init(read).as_ref()
}

fn variable(name: &CStr) -> Option<Vec<u8>> {
    // SAFETY: the name ends in a zero byte.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a pointer that is not null ends in a zero byte; it is copied before any change.
    let value = unsafe { CStr::from_ptr(value) };
    Some(value.to_bytes().to_vec()).filter(|value| !value.is_empty())
}

fn read() -> Option<Config> {
    let dir = variable(c"MILEPOST_FAULTS_DIR")?;
    let open = |path: Vec<u8>, flags| {
        let path = CString::new(path).ok()?;
        let flags = flags | libc::O_CREAT | libc::O_CLOEXEC;
        Some(sys::openat(libc::AT_FDCWD, &path, flags, 0o600)).filter(|fd| *fd >= 0)
    };
    let append = libc::O_WRONLY | libc::O_APPEND;
    let record = variable(c"MILEPOST_FAULTS_RECORD").and_then(|path| open(path, append));
    let fail = variable(c"MILEPOST_FAULTS_FAIL");
    let fail = fail.and_then(|text| Fail::parse(&String::from_utf8_lossy(&text)));
    let counts = variable(c"MILEPOST_FAULTS_COUNT").and_then(|path| open(path, libc::O_RDWR));
    let refused = match variable(c"MILEPOST_FAULTS_MOVES").as_deref() {
        Some(b"no-exchange") => libc::RENAME_EXCHANGE,
        Some(b"plain") => !0,
        _ => 0,
    };
    Some(Config {
        dir,
        record,
        fail,
        refused,
        nosync: variable(c"MILEPOST_FAULTS_NOSYNC").is_some(),
        hold: variable(c"MILEPOST_FAULTS_HOLD").and_then(|path| CString::new(path).ok()),
        counts: counts.and_then(shared).unwrap_or(&COUNTS),
    })
}

/// Counts that are read by others, and are there after a kill.
fn shared(fd: c_int) -> Option<&'static [AtomicU64; CLASSES]> {
    let len = size_of::<[AtomicU64; CLASSES]>();
    // SAFETY: only numbers are passed.
    if unsafe { libc::syscall(libc::SYS_ftruncate, fd, len as i64) } != 0 {
        return None;
    }
    let at = sys::map(fd, len)?;
    // SAFETY: the mapping is at the start of a page, as long as the array, and never taken away;
    // any bytes are counts.
    Some(unsafe { &*at.cast::<[AtomicU64; CLASSES]>() })
}
