//! A case: one file of a store, and its damage. Its name has all parameters, so that a case can be
//! repeated.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::Path;

use super::stores::{Left, Stores};
use crate::seed::Random;

/// Bytes of a page, the unit that a disk loses or misplaces.
pub const PAGE: u64 = 4096;

/// Damage of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Nothing: then everything has to be unchanged.
    Nothing,
    /// One bit of one byte.
    Flip { at: u64, bit: u8 },
    /// One bit of a byte of a header.
    Header { at: u64, bit: u8 },
    /// The file ends early.
    Cut { len: u64 },
    /// The file is not there.
    Remove,
    /// Exchange of the contents of two files of the same kind.
    Swap { with: String },
    /// An earlier content of the file, by the number of the copy.
    Older { copy: usize },
    /// A page of zeros.
    Zeros { at: u64 },
    /// A page of noise.
    Noise { at: u64, seed: u64 },
    /// A page that was written to another place as well.
    Misdirected { from: u64, to: u64 },
}

impl Damage {
    /// The column of the table.
    pub fn kind(&self) -> &'static str {
        match self {
            Damage::Nothing => "nothing",
            Damage::Flip { .. } => "bit flipped",
            Damage::Header { .. } => "bit of a header",
            Damage::Cut { .. } => "cut short",
            Damage::Remove => "removed",
            Damage::Swap { .. } => "swapped",
            Damage::Older { .. } => "older copy",
            Damage::Zeros { .. } => "page of zeros",
            Damage::Noise { .. } => "page of noise",
            Damage::Misdirected { .. } => "page misdirected",
        }
    }
}

/// A file, and its damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub left: Left,
    /// Its path in the store.
    pub file: String,
    pub damage: Damage,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.left.name(), self.file)?;
        match &self.damage {
            Damage::Nothing => write!(f, "nothing"),
            Damage::Flip { at, bit } => write!(f, "flip:{at}:{bit}"),
            Damage::Header { at, bit } => write!(f, "header:{at}:{bit}"),
            Damage::Cut { len } => write!(f, "cut:{len}"),
            Damage::Remove => write!(f, "remove"),
            Damage::Swap { with } => write!(f, "swap:{with}"),
            Damage::Older { copy } => write!(f, "older:{copy}"),
            Damage::Zeros { at } => write!(f, "zeros:{at}"),
            Damage::Noise { at, seed } => write!(f, "noise:{at}:{seed}"),
            Damage::Misdirected { from, to } => write!(f, "misdirected:{from}:{to}"),
        }
    }
}

impl Case {
    /// The case of a name.
    pub fn named(name: &str) -> Option<Self> {
        let words: Vec<&str> = name.trim().split(':').collect();
        let [left, file, kind, rest @ ..] = words.as_slice() else {
            return None;
        };
        let number = |n: usize| rest.get(n).and_then(|text| text.parse::<u64>().ok());
        let bit = || number(1).and_then(|bit| u8::try_from(bit).ok());
        let damage = match *kind {
            "nothing" => Damage::Nothing,
            "flip" => Damage::Flip { at: number(0)?, bit: bit()? },
            "header" => Damage::Header { at: number(0)?, bit: bit()? },
            "cut" => Damage::Cut { len: number(0)? },
            "remove" => Damage::Remove,
            "swap" => Damage::Swap { with: (*rest.first()?).to_owned() },
            "older" => Damage::Older { copy: usize::try_from(number(0)?).ok()? },
            "zeros" => Damage::Zeros { at: number(0)? },
            "noise" => Damage::Noise { at: number(0)?, seed: number(1)? },
            "misdirected" => Damage::Misdirected { from: number(0)?, to: number(1)? },
            _ => return None,
        };
        Some(Self { left: Left::named(left)?, file: (*file).to_owned(), damage })
    }

    /// The row of the table.
    pub fn kind(&self) -> &'static str {
        kind_of(&self.file)
    }

    /// The content of the file once it is damaged; nothing where it is removed.
    pub fn content(&self, stores: &Stores, before: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = before.to_vec();
        match &self.damage {
            Damage::Nothing => {}
            Damage::Flip { at, bit } | Damage::Header { at, bit } => {
                bytes[*at as usize] ^= 1 << bit;
            }
            Damage::Cut { len } => bytes.truncate(*len as usize),
            Damage::Remove => return None,
            Damage::Swap { with } => {
                bytes = fs::read(stores.store(self.left).join(with)).unwrap();
            }
            Damage::Older { copy } => {
                bytes = fs::read(stores.older(self.left)[*copy].join(&self.file)).unwrap();
            }
            Damage::Zeros { at } => {
                let page = page(&bytes, *at);
                bytes[page].fill(0);
            }
            Damage::Noise { at, seed } => {
                let page = page(&bytes, *at);
                let noise = Random::new(*seed).bytes(page.len());
                bytes[page].copy_from_slice(&noise);
            }
            Damage::Misdirected { from, to } => {
                let (from, to) = (page(before, *from), page(before, *to));
                let len = from.len().min(to.len());
                let page = &before[from.start..from.start + len];
                bytes[to.start..to.start + len].copy_from_slice(page);
            }
        }
        Some(bytes)
    }

    /// Damages a copy of the store.
    pub fn apply(&self, stores: &Stores, copy: &Path) {
        let path = copy.join(&self.file);
        let before = fs::read(stores.store(self.left).join(&self.file)).unwrap();
        match self.content(stores, &before) {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        if let Damage::Swap { with } = &self.damage {
            fs::write(copy.join(with), before).unwrap();
        }
    }

    /// Returns the changed or lost bytes of the file; `None` for all of them.
    pub fn span(&self) -> Option<Range<u64>> {
        match self.damage {
            Damage::Flip { at, .. } | Damage::Header { at, .. } => Some(at..at + 1),
            Damage::Cut { len } => Some(len..u64::MAX),
            Damage::Zeros { at } | Damage::Noise { at, .. } => Some(at..at + PAGE),
            Damage::Misdirected { to, .. } => Some(to..to + PAGE),
            Damage::Nothing => Some(0..0),
            Damage::Remove | Damage::Swap { .. } | Damage::Older { .. } => None,
        }
    }
}

fn page(bytes: &[u8], at: u64) -> Range<usize> {
    let at = at as usize;
    at..(at + PAGE as usize).min(bytes.len())
}

/// Returns the kind of a file.
pub fn kind_of(file: &str) -> &'static str {
    match file {
        ".gitignore" => ".gitignore",
        "lock" => "lock",
        "store" | "store.copy" => "settings",
        "acked" => "acked",
        "sled-closed" => "sled-closed",
        _ if file.starts_with("archive/") => "archive",
        _ if file.starts_with("journal/spare") => "spare segment",
        _ if file.starts_with("journal/") => "segment",
        _ if file.starts_with("packs/") && file.ends_with(".copy") => "copy of a pack",
        _ if file.starts_with("packs/") => "pack",
        "sled/db" => "sled db",
        "sled/conf" => "sled conf",
        _ if file.starts_with("sled/snap") => "sled snap",
        _ if file.starts_with("sled/blocks/") => "block file",
        _ => "other",
    }
}
