//! A simulated disk: from a process's changes to its files, the possible remains after a power cut
//! at any moment.
//!
//! ```text
//! trace.rs    what the process did, as the preloaded library wrote it down
//! file.rs     one file: what is stored, and what was written since, by sectors of 512 bytes
//! bits.rs     the permission bits of one file or folder
//! names.rs    folders: which names are stored, and what was done to them since
//! image.rs    what a crash may leave, built into a folder
//! ```
//!
//! A sync of a file stores its bytes, its length and its bits, not its name; a sync of a folder
//! stores the names in it, and its bits. Everything else may be on the disk or not, in any
//! combination: a sector has its content of some moment since the last sync, whatever its
//! neighbours have; a file may have its new length and not its bytes, which are zeros then; a
//! rename may be stored that came after one of other names that is not. The complete table is in
//! docs/RECOVERY.md.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

mod bits;
mod file;
mod image;
mod names;
#[cfg(test)]
mod tests;
mod trace;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use self::bits::Bits;
use self::file::FileNode;
pub use self::image::{VARIANTS, Variant};
use self::names::Names;
pub use self::trace::{Op, read_trace};

/// A file, link or folder, by the order in which they came to be.
type Node = usize;

/// The root folder.
const ROOT: Node = 0;

/// The disk at one moment.
#[derive(Debug, Default)]
pub struct Disk {
    files: HashMap<Node, FileNode>,
    /// Symlinks, with their targets.
    links: HashMap<Node, String>,
    /// Bits of files and folders.
    bits: HashMap<Node, Bits>,
    names: Names,
    /// The file or folder that has an inode number now. A number is used again after its file is
    /// removed.
    inodes: HashMap<u64, Node>,
    /// Number of operations so far.
    clock: u64,
}

impl Disk {
    /// An empty disk.
    pub fn new() -> Self {
        Self { names: Names::new(), ..Self::default() }
    }

    /// A disk on which everything in a folder is stored.
    pub fn load(dir: &Path) -> io::Result<Self> {
        let mut disk = Self::new();
        disk.load_dir(dir, ROOT)?;
        Ok(disk)
    }

    fn load_dir(&mut self, dir: &Path, node: Node) -> io::Result<()> {
        self.load_bits(node, &fs::metadata(dir)?);
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let meta = entry.metadata()?;
            if let Some(other) = self.inodes.get(&meta.ino()) {
                self.names.stored_again(node, &name, *other);
                continue;
            }
            let new = self.names.stored(node, &name, meta.is_dir());
            if meta.is_dir() {
                self.load_dir(&entry.path(), new)?;
            } else if meta.is_symlink() {
                let target = fs::read_link(entry.path())?;
                self.links.insert(new, target.to_string_lossy().into_owned());
            } else {
                self.load_bits(new, &meta);
                self.files.insert(new, FileNode::stored(fs::read(entry.path())?));
            }
        }
        Ok(())
    }

    fn load_bits(&mut self, node: Node, meta: &fs::Metadata) {
        self.inodes.insert(meta.ino(), node);
        self.bits.insert(node, Bits::stored(meta.mode()));
    }

    /// Applies an operation of the process.
    pub fn apply(&mut self, op: &Op) {
        self.clock += 1;
        let at = self.clock;
        match op {
            Op::Create { inode, mode, path } => {
                let node = self.make(at, (*inode, *mode), path, false);
                self.files.insert(node, FileNode::default());
            }
            Op::Mkdir { inode, mode, path } => {
                self.make(at, (*inode, *mode), path, true);
            }
            Op::Symlink { path, target } => {
                let node = self.names.make(at, path, false);
                self.links.insert(node, target.clone());
            }
            Op::Write { inode, offset, data } => self.file(*inode).write(at, *offset, data),
            Op::Truncate { inode, len } => self.file(*inode).truncate(at, *len),
            Op::Mode { inode, mode } => self.bits_of(self.inodes[inode]).set(at, *mode),
            Op::Sync { inode } => {
                self.file(*inode).sync();
                self.bits_of(self.inodes[inode]).sync();
            }
            Op::SyncData { inode } => self.file(*inode).sync(),
            Op::SyncFailed { inode } => {
                // It may be a folder.
                let node = self.inodes.get(inode);
                if let Some(file) = node.and_then(|node| self.files.get_mut(node)) {
                    file.sync_failed();
                }
            }
            Op::SyncDir { path } => {
                // A removed one has nothing in it.
                if let Some(dir) = self.names.find(path) {
                    self.names.sync(dir);
                    self.bits_of(dir).sync();
                }
            }
            Op::SyncAll => {
                self.names.sync_all();
                self.files.values_mut().for_each(FileNode::sync);
                self.bits.values_mut().for_each(Bits::sync);
            }
            Op::SyncAllFailed => self.files.values_mut().for_each(FileNode::sync_failed),
            Op::Unlink { path } | Op::Rmdir { path } => self.names.remove(at, path),
            Op::Rename { from, to } => self.names.rename(at, from, to),
            Op::Exchange { one, other } => self.names.exchange(at, one, other),
            Op::Link { from, to } => self.names.link(at, from, to),
        }
    }

    fn make(&mut self, at: u64, (inode, mode): (u64, u32), path: &str, is_dir: bool) -> Node {
        let node = self.names.make(at, path, is_dir);
        self.inodes.insert(inode, node);
        self.bits.insert(node, Bits::stored(mode));
        node
    }

    fn file(&mut self, inode: u64) -> &mut FileNode {
        let node = self.inodes[&inode];
        self.files.get_mut(&node).unwrap()
    }

    /// The bits of a file or folder; the root of a disk that was begun empty has none yet.
    fn bits_of(&mut self, node: Node) -> &mut Bits {
        self.bits.entry(node).or_insert_with(|| Bits::stored(0o700))
    }

    /// Returns `true` if a change is not stored yet.
    pub fn is_pending(&self) -> bool {
        self.names.is_pending()
            || self.files.values().any(FileNode::is_pending)
            || self.bits.values().any(Bits::is_pending)
    }
}
