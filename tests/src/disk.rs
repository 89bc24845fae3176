//! A disk that is simulated: from what a process did to its files, what a power cut at any moment
//! may leave of them.
//!
//! ```text
//! trace.rs    what the process did, as the preloaded library wrote it down
//! file.rs     one file: what is stored, and what was written since, by sectors of 512 bytes
//! names.rs    folders: which names are stored, and what was done to them since
//! ```
//!
//! What a sync of a file stores is its bytes and its length, not its name; a sync of a folder stores
//! the names in it. Everything else may be on the disk or not, in any combination: a sector holds
//! what it held at some moment since the last sync, whatever its neighbours hold; a file may have its
//! new length and not its bytes, which are zeros then; a rename may be stored that came after one that
//! is not.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

mod file;
mod names;
mod trace;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use self::file::FileNode;
use self::names::{NameOp, Names};
pub use self::trace::{Op, read_trace};
use crate::seed::Random;

/// A file or folder, by the order in which they came to be.
type Node = usize;

/// The root folder.
const ROOT: Node = 0;

/// What of the pending changes a crash leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Nothing.
    None,
    /// Everything, as a kill leaves it.
    All,
    /// What came before some moment, and nothing after it.
    Prefix,
    /// Of each file everything or nothing or what came before some moment; some names.
    Files,
    /// Some sectors, some lengths, some names.
    Sectors,
    /// All names and lengths, some sectors: what has a length and was not stored reads as zeros.
    Lengths,
}

/// All variants.
pub const VARIANTS: [Variant; 6] = [
    Variant::None,
    Variant::All,
    Variant::Prefix,
    Variant::Files,
    Variant::Sectors,
    Variant::Lengths,
];

/// The disk at one moment.
#[derive(Debug, Default)]
pub struct Disk {
    files: HashMap<Node, FileNode>,
    names: Names,
    /// The file that has an inode number now. A number is used again when its file is gone.
    inodes: HashMap<u64, Node>,
    /// How many operations were done.
    clock: u64,
}

impl Disk {
    /// An empty disk.
    pub fn new() -> Self {
        Self {
            names: Names::new(),
            ..Self::default()
        }
    }

    /// A disk on which everything in a folder is stored.
    pub fn load(dir: &Path) -> io::Result<Self> {
        let mut disk = Self::new();
        disk.load_dir(dir, ROOT)?;
        Ok(disk)
    }

    fn load_dir(&mut self, dir: &Path, node: Node) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_dir = entry.file_type()?.is_dir();
            let new = self.names.stored(node, &name, is_dir);
            if is_dir {
                self.load_dir(&entry.path(), new)?;
            } else {
                self.inodes.insert(entry.metadata()?.ino(), new);
                self.files
                    .insert(new, FileNode::stored(fs::read(entry.path())?));
            }
        }
        Ok(())
    }

    /// Does what the process did.
    pub fn apply(&mut self, op: &Op) {
        self.clock += 1;
        let at = self.clock;
        match op {
            Op::Create { inode, path } => {
                let node = self.names.make(at, path, false);
                self.inodes.insert(*inode, node);
                self.files.insert(node, FileNode::default());
            }
            Op::Write {
                inode,
                offset,
                data,
            } => self.file(*inode).write(at, *offset, data),
            Op::Truncate { inode, len } => self.file(*inode).truncate(at, *len),
            Op::Sync { inode } => self.file(*inode).sync(),
            Op::SyncFailed { inode } => {
                // Of a folder it may be too.
                if let Some(node) = self.inodes.get(inode) {
                    self.files.get_mut(node).unwrap().sync_failed();
                }
            }
            Op::SyncDir { path } => self.names.sync(path),
            Op::Mkdir { path } => {
                self.names.make(at, path, true);
            }
            Op::Unlink { path } | Op::Rmdir { path } => self.names.remove(at, path),
            Op::Rename { from, to } => self.names.rename(at, from, to),
        }
    }

    fn file(&mut self, inode: u64) -> &mut FileNode {
        let node = self.inodes[&inode];
        self.files.get_mut(&node).unwrap()
    }

    /// Whether anything is not stored.
    pub fn is_pending(&self) -> bool {
        self.names.is_pending() || self.files.values().any(FileNode::is_pending)
    }

    /// Builds into a new folder what a crash now may leave. `None` and `All` need no luck.
    pub fn image(&self, variant: Variant, random: &mut Random, to: &Path) -> io::Result<()> {
        let moment = self.moment(random);
        let half = random.below(2) == 0;
        let keep_name = |op: &NameOp, random: &mut Random| match variant {
            Variant::None => false,
            Variant::All | Variant::Lengths => true,
            Variant::Prefix => op.at <= moment,
            Variant::Files if half => op.at <= moment,
            Variant::Files | Variant::Sectors => random.below(2) == 0,
        };
        let names = self.names.after(&mut |op| keep_name(op, random));
        self.build(ROOT, &names, variant, moment, random, to)
    }

    /// A moment at which something pending was done.
    fn moment(&self, random: &mut Random) -> u64 {
        let mut moments: Vec<u64> = self.names.pending().collect();
        for file in self.files.values() {
            moments.extend(file.pending());
        }
        moments.sort_unstable();
        match moments.len() as u64 {
            0 => self.clock,
            len => moments[random.below(len) as usize],
        }
    }

    fn build(
        &self,
        dir: Node,
        names: &names::Folders,
        variant: Variant,
        moment: u64,
        random: &mut Random,
        to: &Path,
    ) -> io::Result<()> {
        fs::create_dir(to)?;
        for (name, node) in names.get(&dir).into_iter().flatten() {
            let to = to.join(name);
            let Some(file) = self.files.get(node) else {
                self.build(*node, names, variant, moment, random, &to)?;
                continue;
            };
            let bytes = match variant {
                Variant::None => file.none(),
                Variant::All => file.all(),
                Variant::Prefix => file.until(moment).into(),
                Variant::Files => match random.below(3) {
                    0 => file.none(),
                    1 => file.all(),
                    _ => file.until(file.moment(random)).into(),
                },
                Variant::Sectors => file.some(random, false).into(),
                Variant::Lengths => file.some(random, true).into(),
            };
            fs::write(&to, &bytes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(disk: &Disk, variant: Variant, name: &str) -> Option<Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("image");
        disk.image(variant, &mut Random::new(1), &to).unwrap();
        fs::read(to.join(name)).ok()
    }

    fn disk(ops: &[Op]) -> Disk {
        let mut disk = Disk::new();
        ops.iter().for_each(|op| disk.apply(op));
        disk
    }

    fn create(inode: u64, path: &str) -> Op {
        Op::Create {
            inode,
            path: path.into(),
        }
    }

    fn write(inode: u64, offset: u64, data: &[u8]) -> Op {
        let data = data.to_vec();
        Op::Write {
            inode,
            offset,
            data,
        }
    }

    fn sync_dir(path: &str) -> Op {
        Op::SyncDir { path: path.into() }
    }

    #[test]
    fn a_synced_file_has_its_bytes_but_not_its_name_until_the_folder_is_synced() {
        let mut disk = disk(&[create(7, "a"), write(7, 0, b"one"), Op::Sync { inode: 7 }]);
        assert_eq!(read(&disk, Variant::None, "a"), None);
        assert_eq!(read(&disk, Variant::All, "a").unwrap(), b"one");
        disk.apply(&sync_dir(""));
        disk.apply(&write(7, 3, b"two"));
        assert_eq!(read(&disk, Variant::None, "a").unwrap(), b"one");
        assert_eq!(read(&disk, Variant::All, "a").unwrap(), b"onetwo");
    }

    #[test]
    fn a_name_without_a_sync_of_the_file_gives_an_empty_file() {
        let disk = disk(&[create(7, "a"), write(7, 0, b"one"), sync_dir("")]);
        assert_eq!(read(&disk, Variant::None, "a").unwrap(), b"");
        let mut seen = std::collections::BTreeSet::new();
        for n in 0..50 {
            let dir = tempfile::tempdir().unwrap();
            let to = dir.path().join("image");
            disk.image(Variant::Lengths, &mut Random::new(n), &to)
                .unwrap();
            seen.insert(fs::read(to.join("a")).unwrap());
        }
        let expected = [b"\0\0\0".to_vec(), b"one".to_vec()];
        assert_eq!(seen, expected.into());
    }

    #[test]
    fn a_failed_sync_is_not_made_good_by_the_next() {
        let disk = disk(&[
            create(7, "a"),
            sync_dir(""),
            write(7, 0, &[1; 600]),
            Op::SyncFailed { inode: 7 },
            write(7, 512, &[2; 88]),
            Op::Sync { inode: 7 },
        ]);
        let lost = read(&disk, Variant::None, "a").unwrap();
        assert_eq!(lost[..512], [0; 512]);
        assert_eq!(lost[512..], [2; 88]);
        assert_eq!(read(&disk, Variant::All, "a").unwrap()[..512], [1; 512]);
    }

    #[test]
    fn a_renamed_file_is_at_one_of_its_names() {
        let ops = [create(7, "a"), sync_dir(""), create(8, "b")];
        let mut disk = disk(&ops);
        disk.apply(&Op::Rename {
            from: "b".into(),
            to: "a".into(),
        });
        disk.apply(&write(8, 0, b"new"));
        disk.apply(&Op::Sync { inode: 8 });
        assert_eq!(read(&disk, Variant::None, "a").unwrap(), b"");
        assert_eq!(read(&disk, Variant::All, "a").unwrap(), b"new");
        disk.apply(&sync_dir(""));
        assert_eq!(read(&disk, Variant::None, "a").unwrap(), b"new");
        assert_eq!(read(&disk, Variant::None, "b"), None);
    }
}
