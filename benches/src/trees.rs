//! Folders of files to capture: generated, and the same for the same seed.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Words of the lines. With the numbers between them the small tree, as one `tar`, is packed 3.3
/// times by `zstd -1` and 3.8 times by `gzip`.
const WORDS: [&str; 64] = [
    "the", "self", "let", "value", "return", "if", "in", "path", "error", "file", "match", "fn",
    "state", "event", "read", "write", "of", "and", "offset", "lineage", "result", "some", "none",
    "index", "buffer", "length", "bytes", "string", "option", "for", "while", "import", "from",
    "class", "object", "const", "async", "await", "request", "response", "config", "default",
    "table", "column", "select", "where", "update", "insert", "token", "model", "prompt", "agent",
    "tool", "call", "message", "content", "user", "session", "stream", "chunk", "hash", "node",
    "folder", "snapshot",
];

/// Extensions of the file names.
const ENDS: [&str; 6] = ["rs", "py", "ts", "md", "json", "txt"];

/// Folders in a folder.
const FOLDERS: u64 = 6;

/// Size of the largest file, in files of middle size.
const LARGEST: f64 = 100.0;

/// The seed of the content; that of changes is another one.
const SEED: u64 = 0x5EED_0F71_1E5A_11ED;

/// Numbers that look random: xorshift.
#[derive(Debug)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    /// About normal: twelve evenly distributed ones, less their mean.
    fn normal(&mut self) -> f64 {
        let sum: u64 = (0..12).map(|_| self.below(1 << 20)).sum();
        sum as f64 / f64::from(1 << 20) - 6.0
    }

    fn word(&mut self) -> &'static str {
        // Some words are used more than others.
        let nth = self.below(64).min(self.below(64));
        WORDS[nth as usize]
    }

    /// A line as in a program: set in, some words, a number now and then.
    fn line(&mut self, out: &mut Vec<u8>) {
        let depth = self.below(4) as usize;
        out.extend_from_slice(&b"            "[..depth * 4]);
        for _ in 0..=self.below(9) {
            out.extend_from_slice(self.word().as_bytes());
            match self.below(16) {
                0..10 => out.push(b' '),
                10..12 => out.extend_from_slice(b"("),
                12..14 => out.extend_from_slice(b"."),
                14 => out.extend_from_slice(b" = "),
                _ => out.extend_from_slice(format!("_{} ", self.below(10_000)).as_bytes()),
            }
        }
        out.push(b'\n');
    }

    fn text(&mut self, bytes: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes + 256);
        while out.len() < bytes {
            self.line(&mut out);
        }
        out.truncate(bytes);
        out
    }
}

/// A folder of generated files, below a folder of its own that has a `.git`, so that no rules of
/// folders above it affect captures.
#[derive(Debug)]
pub struct Tree {
    folder: PathBuf,
    files: Vec<PathBuf>,
    changes: Numbers,
}

impl Tree {
    /// Makes this many files of this many bytes together, their sizes about log-normal, 20 to 40
    /// entries a folder.
    pub fn make(place: &Path, files: usize, bytes: u64) -> Self {
        let mut tree = Self::empty(place);
        let mut numbers = Numbers(SEED);
        let sizes: Vec<f64> =
            (0..files).map(|_| (1.2 * numbers.normal()).exp().min(LARGEST)).collect();
        let scale = bytes as f64 / sizes.iter().sum::<f64>();
        let mut sizes = sizes.into_iter();
        let mut folders = std::collections::VecDeque::from([tree.folder.clone()]);
        while let Some(folder) = folders.pop_front() {
            let count = 15 + numbers.below(20) as usize;
            for (nth, size) in sizes.by_ref().take(count).enumerate() {
                if nth == 0 {
                    std::fs::create_dir_all(&folder).unwrap();
                }
                let end = ENDS[numbers.below(6) as usize];
                let path = folder.join(format!("{}_{nth}.{end}", numbers.word()));
                std::fs::write(&path, numbers.text((size * scale) as usize)).unwrap();
                tree.files.push(path);
            }
            if tree.files.len() == files {
                break;
            }
            for nth in 0..FOLDERS {
                folders.push_back(folder.join(format!("{}-{nth}", numbers.word())));
            }
        }
        tree
    }

    /// One file.
    pub fn of_one(place: &Path, bytes: u64) -> Self {
        let mut tree = Self::empty(place);
        let path = tree.folder.join("data.txt");
        std::fs::write(&path, Numbers(SEED).text(bytes as usize)).unwrap();
        tree.files.push(path);
        tree
    }

    fn empty(place: &Path) -> Self {
        let folder = place.join("work");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir(place.join(".git")).unwrap();
        Self { folder, files: Vec::new(), changes: Numbers(SEED.rotate_left(32)) }
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns its number of files.
    pub fn files(&self) -> u64 {
        self.files.len() as u64
    }

    /// Puts a new line into this many files, each somewhere, and writes them as an editor does.
    pub fn change(&mut self, files: usize) {
        for _ in 0..files {
            let nth = self.changes.below(self.files.len() as u64) as usize;
            let mut content = std::fs::read(&self.files[nth]).unwrap();
            let at = self.changes.below(content.len() as u64 + 1) as usize;
            let line = content[at..].iter().position(|byte| *byte == b'\n');
            let at = line.map_or(content.len(), |from_there| at + from_there + 1);
            let mut line = Vec::new();
            self.changes.line(&mut line);
            content.splice(at..at, line);
            std::fs::write(&self.files[nth], content).unwrap();
        }
    }
}

/// Syncs the file system of a folder, so that a measurement does not pay for earlier writes.
pub fn settle(folder: &Path) {
    let done = Command::new("sync").arg("-f").arg(folder).status().unwrap();
    assert!(done.success());
}

/// Returns the disk space of a folder, in whole blocks.
pub fn blocks(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut sum = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let meta = entry.metadata().unwrap();
        sum += meta.blocks() * 512;
        if meta.is_dir() {
            sum += blocks(&entry.path());
        }
    }
    sum
}
