//! Properties of every input: memory, and the kinds of errors.

use milepost_codec::{Error, ErrorKind};
use peak_alloc::PeakAlloc;

/// The global allocator of each binary that runs targets.
const MEMORY: PeakAlloc = PeakAlloc;

/// Runs `work`, and asserts that it holds at most 64 times the input, and `more`, at once.
///
/// The allocator counts for the whole process: no other thread may allocate at the time.
pub(crate) fn bounded<T>(what: &str, input: usize, more: usize, work: impl FnOnce() -> T) -> T {
    let before = MEMORY.current_usage();
    assert!(before > 0, "the binary has no allocator that counts");
    MEMORY.reset_peak_usage();
    let out = work();
    let peak = MEMORY.peak_usage().saturating_sub(before);
    assert!(
        peak <= 64 * input + more + (64 << 10),
        "{what}: {peak} bytes held for an input of {input}"
    );
    out
}

/// Stored bytes that cannot be read are damaged, or of a newer version; nothing else.
pub(crate) fn told(what: &str, error: &Error) {
    assert!(
        matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
        "{what}: {:?}: {error}",
        error.kind()
    );
}
