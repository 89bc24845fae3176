//! Compares Milepost with the alternatives of its users: the same work in turn, in one table.
//!
//! ```text
//! contestants  who takes part, behind one trait, and how durable each is
//! appends      durable appends: writers, sizes
//! load         real events in bulk: in, on the disk, out again
//! steps        a growing conversation with a checkpoint behind each step
//! growth       what each operation takes in ever larger stores
//! limits       what the machine can do at most
//! figures      what was measured: medians and spreads, as a table and as JSON
//! plots        the same as pictures
//! ```

pub mod appends;
pub mod contestants;
pub mod figures;
pub mod growth;
pub mod limits;
pub mod load;
pub mod plots;
pub mod steps;

use std::path::Path;

/// Bytes on the disk of all files below a folder, as `du` counts them.
pub fn on_disk(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        bytes += match metadata.is_dir() {
            true => on_disk(&entry.path()),
            false => metadata.blocks() * 512,
        };
    }
    bytes
}

/// Returns the bytes that this process has written to disks, as the kernel counts them.
pub fn written() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find(|line| line.starts_with("write_bytes"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}
