//! Authors of the changes to a folder since a point: the run, others, or unknown. `docs/AGENTS.md`,
//! section "Whose change it was", has the rules.
//!
//! ```text
//! history  what the log says about the folder, in the order of its changes
//! calls    calls of tools: when each was open, and the author of an interval
//! reach    paths that calls may have changed, where those of several sessions overlap
//! ```

mod calls;
mod history;
mod reach;

use milepost::{Engine, Error, ErrorKind, Hash, Point, Result, Task};
use milepost_codec::{Capture, ChunkId};

use self::calls::Calls;
use self::history::{Folder, Role, What};
use self::reach::Blame;
use crate::chunks::Contents;
use crate::error::is_lost;
use crate::plan::{Author, Authors, Counted};
use crate::tree::{self, Budget};

/// The folder as it is now.
pub(super) struct Present<'a> {
    pub(super) tree: ChunkId,
    /// Its path; `None` if it was moved.
    pub(super) folder: Option<&'a [u8]>,
}

/// Returns the authors of all paths that differ between a point and the present.
///
/// # Errors
///
/// Errors of a read. Lost or damaged captures are no error: then authors are unknown.
pub(super) fn authors(
    engine: &Engine,
    contents: &dyn Contents,
    (task, to): (&Task, &Point),
    target: &Capture,
    present: &Present<'_>,
) -> Result<Authors> {
    match known(engine, contents, (task, to), target, present) {
        Err(error) if is_unreadable(&error) => {
            let mut authors = Authors::default();
            authors.forget();
            Ok(authors)
        }
        known => known,
    }
}

fn known(
    engine: &Engine,
    contents: &dyn Contents,
    (task, to): (&Task, &Point),
    target: &Capture,
    present: &Present<'_>,
) -> Result<Authors> {
    let folder = Folder::new(engine, task, to)?;
    let history = folder.history()?;
    let is_known = history.is_some();
    let moments = match history {
        Some(moments) => moments,
        None => folder.last_moments()?,
    };
    let calls = Calls::of(&moments);
    let mut path = Path {
        contents,
        folder: present.folder,
        authors: Authors::default(),
        at: counted(contents, target)?,
        at_folder: target.folder.as_bytes().to_vec(),
        is_sure: is_known,
    };
    // Without the point in the history, it begins with the last capture that is not a present.
    let begin = moments.iter().rposition(|moment| moment.what.is_known_to_the_folder());
    let mut last = None;
    let mut named = None;
    for (n, moment) in moments.iter().enumerate() {
        let Some(root) = moment.what.root() else {
            continue;
        };
        named = Some(root);
        // The last capture up to the target is the target.
        let is_before = match is_known {
            true => moment.offset < to.offset,
            false => Some(n) < begin,
        };
        if is_before {
            last = Some(n);
            continue;
        }
        let author = calls.author(&moments, last, n);
        if path.go(root, &author)? {
            last = Some(n);
        }
    }
    let folder_has = engine.captures().last(task)?;
    if let Some(root) = folder_has.filter(|root| named != Some(*root)) {
        path.go(root, &Blame::All(Author::Unknown))?;
    }
    let author = calls.author(&moments, last, moments.len());
    path.end(present.tree, &author)?;
    Ok(path.authors)
}

/// Returns `true` if an error reports content that is missing or damaged, or of a later version.
pub(super) fn is_unreadable(error: &Error) -> bool {
    is_lost(error) || error.kind() == ErrorKind::Unsupported
}

fn counted(contents: &dyn Contents, capture: &Capture) -> Result<Counted> {
    let budget = Some(Budget::of(capture));
    let sizes = tree::skips(contents, capture)?.into_iter().filter(crate::plan::is_by_size);
    Ok(Counted { tree: capture.tree, budget, by_size: sizes.collect() })
}

/// The way from the target to the present, capture by capture.
struct Path<'a> {
    contents: &'a dyn Contents,
    folder: Option<&'a [u8]>,
    authors: Authors,
    /// The tree up to which all changes have an author.
    at: Counted,
    at_folder: Vec<u8>,
    /// `false` if a capture since then is lost.
    is_sure: bool,
}

impl Path<'_> {
    /// Adds the changes up to a capture. Returns `false` if it is lost or damaged: then the changes
    /// up to the next one are unknown.
    fn go(&mut self, Hash(root): Hash, author: &Blame) -> Result<bool> {
        let done = tree::capture(self.contents, &ChunkId(root)).and_then(|capture| {
            let folder = capture.folder.as_bytes();
            // Between two captures of the folder, one of another folder is not evidence.
            if self.folder.is_some_and(|here| here == self.at_folder && here != folder) {
                return Ok(false);
            }
            let is_here = self.folder.is_none() || folder == self.at_folder;
            self.add(counted(self.contents, &capture)?, author, is_here)?;
            self.at_folder = capture.folder.as_bytes().to_vec();
            Ok(true)
        });
        match done {
            Err(error) if is_unreadable(&error) => {
                self.is_sure = false;
                Ok(false)
            }
            done => done,
        }
    }

    /// Adds the changes up to the present.
    fn end(&mut self, tree: ChunkId, author: &Blame) -> Result<()> {
        let is_here = self.folder.is_none_or(|folder| folder == self.at_folder);
        // The present has such files, as far as the target has them.
        self.add(Counted { tree, budget: None, by_size: Vec::new() }, author, is_here)
    }

    fn add(&mut self, to: Counted, author: &Blame, is_here: bool) -> Result<()> {
        let is_known = self.is_sure && is_here;
        self.authors.add(self.contents, &self.at, &to, &|path| match is_known {
            true => author.of(path),
            false => Author::Unknown,
        })?;
        self.at = to;
        self.is_sure = true;
        Ok(())
    }
}

impl What {
    /// Returns `true` for a capture other than a present, and for one that a switch left.
    fn is_known_to_the_folder(&self) -> bool {
        match self {
            Self::Captured { role, .. } => *role != Role::Present,
            what => what.root().is_some(),
        }
    }

    /// Returns the root of a capture, or of the one that a switch left.
    fn root(&self) -> Option<Hash> {
        match self {
            Self::Captured { root, .. } | Self::Jumped { root } => Some(*root),
            _ => None,
        }
    }
}
