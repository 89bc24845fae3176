//! Skips: the entries that a capture left out, with reasons.

use serde::{Deserialize, Serialize};

use super::name::{PathBytes, compare};
use crate::error::Result;
use crate::wire::{Reader, put_varint};

/// Reason of a skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// A `.git`, a bare repository, or another work tree of a repository.
    Git,
    /// The store itself.
    Store,
    /// Ignored by a rule.
    Ignored,
    /// Over the size limit of one file.
    Large,
    /// The limit of the whole capture was reached.
    Limit,
    /// A device, socket or pipe.
    Special,
    /// On another file system or mount.
    Mount,
    /// Not readable.
    Denied,
    /// Changed during each read. The tree has the content that was read last, marked as unstable.
    Unstable,
    /// The name is too long or has a zero byte.
    Name,
    /// The path is too long or too deep.
    Deep,
    /// The directory has too many entries.
    Wide,
    /// The staging of a restore.
    Staging,
    /// Ignored by the default list, which holds unless a rule of the folder decides.
    Default,
}

impl SkipReason {
    const ALL: [Self; 14] = [
        Self::Git,
        Self::Store,
        Self::Ignored,
        Self::Large,
        Self::Limit,
        Self::Special,
        Self::Mount,
        Self::Denied,
        Self::Unstable,
        Self::Name,
        Self::Deep,
        Self::Wide,
        Self::Staging,
        Self::Default,
    ];

    /// Returns the name in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Store => "store",
            Self::Ignored => "ignored",
            Self::Large => "large",
            Self::Limit => "limit",
            Self::Special => "special",
            Self::Mount => "mount",
            Self::Denied => "denied",
            Self::Unstable => "unstable",
            Self::Name => "name",
            Self::Deep => "deep",
            Self::Wide => "wide",
            Self::Staging => "staging",
            Self::Default => "default",
        }
    }
}

/// A skipped entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// The path below the folder: 1 to 8192 bytes.
    pub path: PathBytes,
    /// The reason.
    pub reason: SkipReason,
    /// Size of a file in bytes; 0 for other entries.
    pub size: u64,
}

impl Skip {
    /// The most bytes of the path: a name below the longest valid path fits.
    pub const PATH_MAX: usize = 8192;

    /// Appends the stored form to `out`. A list is a sequence of stored forms; its paths ascend in
    /// the order of [`TreePath`](super::TreePath), and chunks may cut it anywhere.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.path.0.len() as u64);
        out.extend_from_slice(&self.path.0);
        out.push(self.reason as u8);
        put_varint(out, self.size);
    }

    /// Decodes a list item by item. The first damaged item yields `Corrupt` and ends the iteration.
    pub fn decode_list(bytes: &[u8]) -> impl Iterator<Item = Result<Self>> + '_ {
        let mut reader = Reader::new(bytes, "list of skips");
        let (mut before, mut failed) = (None::<&[u8]>, false);
        std::iter::from_fn(move || {
            if failed || reader.is_empty() {
                return None;
            }
            let read = Self::read(&mut reader, before);
            failed = read.is_err();
            Some(read.map(|(path, skip)| {
                before = Some(path);
                skip
            }))
        })
    }

    fn read<'a>(reader: &mut Reader<'a>, before: Option<&[u8]>) -> Result<(&'a [u8], Self)> {
        let len = reader.count(1)?;
        if len == 0 || len > Self::PATH_MAX {
            let expected = format!("a path of 1 to {} bytes", Self::PATH_MAX);
            return Err(reader.corrupt(expected, len));
        }
        let path = reader.take(len)?;
        if before.is_some_and(|before| compare(before, path).is_ge()) {
            let found = format!("`{}`", super::printable(path));
            return Err(reader.corrupt("paths that ascend", found));
        }
        let reason = reader.u8()?;
        let Some(listed) = SkipReason::ALL.get(usize::from(reason)) else {
            return Err(reader.corrupt("a reason", reason));
        };
        let skip = Self { path: path.into(), reason: *listed, size: reader.shortest()? };
        Ok((path, skip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_number_and_its_name() {
        for (n, reason) in SkipReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, n);
            let json = serde_json::to_string(&reason).unwrap();
            assert_eq!(json, format!("\"{}\"", reason.name()));
        }
    }

    #[test]
    fn a_list_ends_at_the_first_that_is_out_of_order() {
        let skip = |path: &str| Skip {
            path: path.as_bytes().into(),
            reason: SkipReason::Large,
            size: 300,
        };
        let list = |paths: &[&str]| {
            let mut out = Vec::new();
            paths.iter().for_each(|path| skip(path).encode(&mut out));
            out
        };
        let bytes = list(&["a", "a/x", "a-b", "b"]);
        let read: Result<Vec<_>> = Skip::decode_list(&bytes).collect();
        assert_eq!(read.unwrap(), ["a", "a/x", "a-b", "b"].map(skip));
        for bad in [&["a", "a-b", "a/x"][..], &["b", "a"], &["a", "a"]] {
            let bytes = list(bad);
            let read: Vec<_> = Skip::decode_list(&bytes).collect();
            assert!(read.last().unwrap().is_err(), "{bad:?}");
        }
        assert_eq!(Skip::decode_list(&[]).count(), 0);
    }

    #[test]
    fn the_json_form_names_path_reason_and_size() {
        let skip = Skip { path: b"a/\xff"[..].into(), reason: SkipReason::Denied, size: 0 };
        let json = r#"{"path":{"base64":"YS//"},"reason":"denied","size":0}"#;
        assert_eq!(serde_json::to_string(&skip).unwrap(), json);
        assert_eq!(serde_json::from_str::<Skip>(json).unwrap(), skip);
    }
}
