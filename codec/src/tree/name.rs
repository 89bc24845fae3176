//! Names and paths in trees. They are bytes of any encoding, checked on creation and on decoding: a
//! valid name always refers to a child of its directory.

use std::cmp::Ordering;

use crate::error::{Error, Result};
use crate::tree::display::{impl_text_forms, printable};

/// The name of a directory entry: 1 to 255 bytes without `/` and zero bytes. Invalid are `.`, `..`,
/// and every form of `.git` that a file system treats as `.git`: other case, NTFS (`git~1`,
/// `.git .`, `.git::$INDEX_ALLOCATION`), HFS+ and casefolded ext4 (with ignored code points).
///
/// ```
/// use milepost_codec::Name;
///
/// assert_eq!(Name::new(b"caf\xe9")?.as_bytes(), b"caf\xe9");
/// assert!(Name::new(b"..").is_err());
/// # Ok::<(), milepost_codec::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Box<[u8]>);

impl Name {
    /// The most bytes of a name.
    pub const LEN_MAX: usize = 255;

    /// Checks a name. Fails with `Invalid` if it is not valid; the message has the reason.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        match Self::fault(bytes) {
            None => Ok(Self(bytes.into())),
            Some(why) => {
                Err(Error::invalid(format!("`{}` is no name in a tree: {why}", printable(bytes))))
            }
        }
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns `true` if some file system treats these bytes as `.git`, by the rules of git
    /// (`is_hfs_dotgit` and `is_ntfs_dotgit`).
    pub fn is_git(bytes: &[u8]) -> bool {
        is_ntfs_dotgit(bytes) || !bytes.is_ascii() && is_hfs_dotgit(bytes)
    }

    /// Returns the reason why these bytes are not a name, or `None` if they are one.
    pub(crate) fn fault(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [] => Some("it is empty"),
            b"." | b".." => Some("it names no child"),
            _ if bytes.len() > Self::LEN_MAX => Some("it has over 255 bytes"),
            _ if bytes.contains(&b'/') => Some("it has a `/`"),
            _ if bytes.contains(&0) => Some("it has a zero byte"),
            _ if Self::is_git(bytes) => Some("`.git` is never in a tree"),
            _ => None,
        }
    }

    /// Wraps bytes that were checked before.
    pub(crate) fn checked(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

/// Returns `true` if NTFS treats the name as `.git`. NTFS ignores case, trailing spaces and dots,
/// and text after a colon; `git~1` is the short name. A backslash is a separator there.
fn is_ntfs_dotgit(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'\\').any(|name| {
        let rest = [b".git".as_slice(), b"git~1"].into_iter().find_map(|git| {
            let (front, rest) = name.split_at_checked(git.len())?;
            front.eq_ignore_ascii_case(git).then_some(rest)
        });
        let front = |rest: &[u8]| {
            let ends = rest.iter().position(|byte| *byte == b':');
            ends.map_or(rest.len(), |at| at)
        };
        rest.is_some_and(|rest| {
            rest.iter().take(front(rest)).all(|byte| matches!(byte, b' ' | b'.'))
        })
    })
}

/// Returns `true` if HFS+, or ext4 with casefolding, treats the name as `.git`. Both ignore case
/// and these code points. No other code point beyond ASCII folds to a letter of `.git`.
fn is_hfs_dotgit(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    let ignored = |c: &char| {
        matches!(
            c,
            '\u{200c}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{206a}'..='\u{206f}'
                | '\u{feff}'
        )
    };
    let visible = name.chars().filter(|c| !ignored(c)).map(|c| match c {
        // Some tables fold the dotted and dotless forms of `i` to `i`.
        '\u{130}' | '\u{131}' => 'i',
        c => c.to_ascii_lowercase(),
    });
    visible.eq(".git".chars())
}

/// A relative path in a tree: names separated by `/`, 1 to 4096 bytes and at most 256 levels.
///
/// Paths are ordered name by name: `a`, `a/x`, `a-b`. The JSON form is a string for UTF-8,
/// otherwise `{"base64":".."}`.
///
/// ```
/// use milepost_codec::TreePath;
///
/// let path = TreePath::new(b"src/main.rs")?;
/// assert_eq!(path.names().count(), 2);
/// assert!(path.is_in(&TreePath::new(b"src")?));
/// assert!(TreePath::new(b"src/../..").is_err());
/// # Ok::<(), milepost_codec::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TreePath(Box<[u8]>);

impl TreePath {
    /// The most bytes of a path.
    pub const LEN_MAX: usize = 4096;

    /// The most names in a path.
    pub const DEPTH_MAX: usize = 256;

    /// Checks a path. Fails with `Invalid` if it is not valid; the message has the reason.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        match Self::fault(bytes) {
            None => Ok(Self(bytes.into())),
            Some(why) => {
                Err(Error::invalid(format!("`{}` is no path in a tree: {why}", printable(bytes))))
            }
        }
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Iterates over the names, from the top down.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// Returns the last name.
    pub fn name(&self) -> Name {
        Name::checked(self.names().next_back().unwrap_or_default())
    }

    /// Returns the path without its last name, or `None` if it has only one.
    pub fn parent(&self) -> Option<Self> {
        let slash = self.0.iter().rposition(|byte| *byte == b'/')?;
        self.0.get(..slash).map(|front| Self(front.into()))
    }

    /// Returns the path of a child. Fails with `Invalid` if it is too long or too deep.
    pub fn join(&self, name: &Name) -> Result<Self> {
        Self::new(&[&self.0, b"/".as_slice(), &name.0].concat())
    }

    /// Returns `true` if this path is `other` or below it.
    pub fn is_in(&self, other: &Self) -> bool {
        match self.0.strip_prefix(&*other.0) {
            Some(rest) => matches!(rest.first(), None | Some(b'/')),
            None => false,
        }
    }

    /// Returns the reason why these bytes are not a path, or `None` if they are one.
    pub(crate) fn fault(bytes: &[u8]) -> Option<&'static str> {
        if bytes.len() > Self::LEN_MAX {
            return Some("it has over 4096 bytes");
        }
        let mut levels = 0;
        for name in bytes.split(|byte| *byte == b'/') {
            levels += 1;
            if let Some(why) = Name::fault(name) {
                return Some(match name {
                    [] => "it is absolute, or has an empty name",
                    b"." | b".." => "it has `.` or `..`",
                    _ => why,
                });
            }
        }
        (levels > Self::DEPTH_MAX).then_some("it has over 256 levels")
    }

    /// Wraps bytes that were checked before.
    pub(crate) fn checked(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<Name> for TreePath {
    fn from(name: Name) -> Self {
        Self(name.0)
    }
}

/// An unchecked path: of a folder, or of an entry that a capture skipped. Order and JSON form are
/// those of [`TreePath`].
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct PathBytes(pub Box<[u8]>);

impl PathBytes {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for PathBytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&TreePath> for PathBytes {
    fn from(path: &TreePath) -> Self {
        Self(path.0.clone())
    }
}

/// Compares paths name by name. Names have no zero byte and no `/`, so it suffices to order `/`
/// before all other bytes.
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    a.iter().map(rank).cmp(b.iter().map(rank))
}

impl_text_forms!(Name, Self::new);
impl_text_forms!(TreePath, Self::new);
impl_text_forms!(PathBytes, |bytes| Ok(bytes.into()));

macro_rules! ordered {
    ($($type:ident)*) => {$(
        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $type {
            fn cmp(&self, other: &Self) -> Ordering {
                compare(&self.0, &other.0)
            }
        }
    )*};
}
ordered!(TreePath PathBytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_refused_with_the_reason() {
        let long = [b'x'; 256];
        let bad: [(&[u8], &str); 9] = [
            (b"", "empty"),
            (b".", "no child"),
            (b"..", "no child"),
            (b"a/b", "`/`"),
            (b"/", "`/`"),
            (b"a\0", "zero"),
            (b".git", "never"),
            (b".GiT", "never"),
            (&long, "255"),
        ];
        for (bytes, why) in bad {
            let error = Name::new(bytes).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Invalid);
            assert!(error.to_string().contains(why), "{error}");
        }
        for good in [&b"..."[..], b".gitignore", b"git", b" ", b"\n", b"\xff", &long[1..]] {
            assert_eq!(Name::new(good).unwrap().as_bytes(), good);
        }
    }

    #[test]
    fn no_name_that_a_file_system_takes_for_dot_git_is_one() {
        for bad in [
            ".git ",
            ".git.",
            ".GIT . .",
            "git~1",
            "GIT~1",
            "git~1. ",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".git\\config",
            "a\\.git",
            "a\\git~1\\x",
            ".g\u{200c}it",
            "\u{feff}.Git",
            ".gi\u{206f}t\u{202e}",
        ] {
            assert!(Name::new(bad.as_bytes()).is_err(), "{bad:?}");
            assert!(TreePath::new(format!("a/{bad}/x").as_bytes()).is_err(), "{bad:?}");
        }
        for good in [
            ".gitignore",
            ".git-x",
            ".gitx",
            "git~2",
            "git~10",
            "git",
            ".git x",
            "x.git",
            ".g\u{301}it",
            "a\\b",
            ".github",
        ] {
            assert!(Name::new(good.as_bytes()).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn a_path_is_checked_name_by_name() {
        let deep = |levels| vec!["d"; levels].join("/");
        for bad in ["", "/a", "a/", "a//b", "a/../b", "./a", "a/.git/config", "x\0/y"] {
            assert!(TreePath::new(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(TreePath::new(deep(257).as_bytes()).is_err());
        assert!(TreePath::new(deep(256).as_bytes()).is_ok());
        let name = "n".repeat(255);
        let longest = [name.as_str(); 16].join("/");
        assert_eq!(longest.len(), 4095);
        assert!(TreePath::new(longest.as_bytes()).is_ok());
        assert!(TreePath::new(format!("{longest}/n").as_bytes()).is_err());

        let path = TreePath::new(b"a/b/c").unwrap();
        assert_eq!(path.name(), Name::new(b"c").unwrap());
        assert_eq!(path.parent().unwrap().as_bytes(), b"a/b");
        assert_eq!(path.parent().unwrap().join(&path.name()).unwrap(), path);
        assert!(TreePath::new(b"a").unwrap().parent().is_none());
        for (other, is_in) in
            [("a", true), ("a/b/c", true), ("a/b/c/d", false), ("a/bc", false), ("b", false)]
        {
            assert_eq!(path.is_in(&TreePath::new(other.as_bytes()).unwrap()), is_in, "{other}");
        }
        assert!(!TreePath::new(b"a-b").unwrap().is_in(&TreePath::new(b"a").unwrap()));
    }

    #[test]
    fn paths_are_ordered_name_by_name() {
        let mut paths = ["b", "a-b", "a/x", "a", "a/x/y", "a/x-", "a.b/c", "a\x01"]
            .map(|path| TreePath::new(path.as_bytes()).unwrap());
        paths.sort();
        let sorted: Vec<_> = paths.iter().map(ToString::to_string).collect();
        let by_names = ["a", "a/x", "a/x/y", "a/x-", "a\\x01", "a-b", "a.b/c", "b"];
        assert_eq!(sorted, by_names);
    }
}
