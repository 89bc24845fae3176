//! Shared code of the targets of `fuzz_targets/`: their bodies, in `tests/src/targets/`, and an
//! allocator that counts.

use peak_alloc::PeakAlloc;

pub use milepost_tests::targets::*;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;
