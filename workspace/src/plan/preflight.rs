//! Checks of a plan against the folder: free space, permissions, and properties that captures do
//! not include.

use std::collections::{BTreeMap, BTreeSet};

use milepost::Result;
use milepost_codec::{Action, ActionKind, RestoreIntent, TreePath};

use super::{ConflictWhy, NoteWhat, PathConflict, Plan, PlanNote};
use crate::error;
use crate::fs::{Dir, Folder, Kind, OTHER_BITS, PathWalker};

/// Space besides that of files: staging, and folders that grow.
const OVERHEAD_BYTES: u64 = 1 << 20;

/// Adds conflicts and notes about the folder to a plan. Changes nothing.
pub(crate) fn look_at_folder(
    folder: &Folder,
    actions: &RestoreIntent,
    preview: &mut Plan,
) -> Result<()> {
    let actions = &actions.actions;
    preview.needs += if actions.is_empty() { 0 } else { OVERHEAD_BYTES };
    preview.free =
        (folder.root().free()).map_err(|e| error::below("ask how much is free in", b"", e))?;
    if preview.free < preview.needs {
        let text =
            format!("{} bytes have to be free, {} are: make room", preview.needs, preview.free);
        let conflict = PathConflict::saying(None, ConflictWhy::Space, text);
        preview.conflicts.push(conflict);
    }
    let closed = |action: &&Action| matches!(action.kind, ActionKind::Mode | ActionKind::MakeRoom);
    let opened: BTreeSet<_> = (actions.iter().filter(closed)).map(|action| &action.path).collect();
    // New names in each directory, by lower-case name.
    let mut new: BTreeMap<Option<TreePath>, BTreeMap<String, &TreePath>> = BTreeMap::new();
    let mut checked: BTreeSet<Option<TreePath>> = BTreeSet::new();
    // Staging is created in the root, whichever path changes.
    if !actions.is_empty() && !folder.root().may_change() {
        preview.conflicts.push(denied(None));
    }
    let mut walker = PathWalker::new(folder);
    for action in actions {
        // The move detects a parent that is missing or is not a directory.
        let Ok(parent) = walker.parent(&action.path) else {
            continue;
        };
        let at = action.path.parent();
        if action.kind != ActionKind::Mode && checked.insert(at.clone()) {
            let ours = at.as_ref().is_some_and(|at| opened.contains(at)) && parent.is_own();
            if at.is_some() && !ours && !parent.may_change() {
                preview.conflicts.push(denied(at.as_ref()));
            }
        }
        match action.kind {
            ActionKind::Create => {
                let names = new.entry(at).or_default();
                if let Some(other) = same_but_case(&parent, &action.path, names) {
                    let text = format!("the file system takes it for {other}");
                    let why = ConflictWhy::Case;
                    preview.conflicts.push(PathConflict::saying(Some(&action.path), why, text));
                }
            }
            ActionKind::Replace | ActionKind::Remove => {
                notes(&parent, &action.path, &mut preview.notes)
            }
            ActionKind::Mode if !parent_of_itself(&mut walker, &action.path) => {
                preview.conflicts.push(denied(Some(&action.path)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns `true` if the mode bits of a folder may be changed.
fn parent_of_itself(walker: &mut PathWalker<'_>, path: &TreePath) -> bool {
    let own = |dir: &Dir| dir.is_own() || is_root();
    walker.folder(path).map_or(true, |dir| own(&dir))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn denied(path: Option<&TreePath>) -> PathConflict {
    let text = match path {
        Some(_) => "the folder cannot be written to: change its permissions".to_owned(),
        None => "the workspace cannot be written to: change its permissions".to_owned(),
    };
    PathConflict::saying(path, ConflictWhy::Denied, text)
}

fn notes(parent: &Dir, path: &TreePath, notes: &mut Vec<PlanNote>) {
    let Ok(found) = parent.look(path.name().as_bytes()) else {
        return;
    };
    let mut note = |what, text: String| {
        let path = path.clone();
        notes.push(PlanNote { path, what, text });
    };
    let links = parent.links(path.name().as_bytes()).unwrap_or(1);
    if found.kind == Kind::File && links > 1 {
        let text = format!("it has {} other names, which keep what they have", links - 1);
        note(NoteWhat::Links, text);
    }
    if found.kind != Kind::Link && found.stamp.mode & OTHER_BITS != 0 {
        let bits = found.stamp.mode & OTHER_BITS;
        note(NoteWhat::Bits, format!("its bits {bits:o} are not captured, and go"));
    }
}

/// Returns the name that a case-insensitive directory treats as equal to a new one.
fn same_but_case<'a>(
    parent: &Dir,
    path: &'a TreePath,
    names: &mut BTreeMap<String, &'a TreePath>,
) -> Option<String> {
    let name = path.name();
    let folded = String::from_utf8_lossy(name.as_bytes()).to_lowercase();
    let before = names.insert(folded.clone(), path);
    let found = parent.look(name.as_bytes()).ok().filter(|_| before.is_none());
    if found.is_some() {
        // The name exists, but not in the tree of the present: find its spelling in the directory.
        // If it is the name itself, another process created it since the scan.
        let list = parent.names(1 << 16).unwrap_or_default();
        let other = list.iter().find(|other| {
            other.as_ref() != name.as_bytes()
                && String::from_utf8_lossy(other).to_lowercase() == folded
        });
        return other.map(|other| milepost_codec::printable(other));
    }
    // Two new names differ only by case: test whether the directory distinguishes its own names.
    let before = before?;
    let list = parent.names(1 << 10).unwrap_or_default();
    let blind = list.iter().any(|own| {
        let other = own.iter().map(|byte| match byte.is_ascii_lowercase() {
            true => byte.to_ascii_uppercase(),
            false => byte.to_ascii_lowercase(),
        });
        let other: Vec<u8> = other.collect();
        let ino = |name: &[u8]| parent.look(name).ok().map(|found| found.identity());
        other != own.as_ref()
            && ino(&other).is_some()
            && ino(&other) == ino(own)
            && !list.iter().any(|name| **name == *other)
    });
    blind.then(|| before.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::at_root;
    use crate::plan::make;
    use crate::plan::{Choices, Trees};
    use crate::testing::fixtures::{Thing, Things, path, temporary, write};
    use crate::testing::memory::MemoryChunks;
    use std::os::unix::fs::PermissionsExt;

    fn preview_of(needs: u64, closed: bool) -> Plan {
        let text = |bytes: &str| Thing::File(bytes.into(), 0o644);
        let bits = if closed { 0o555 } else { 0o755 };
        let last: Things = [
            (path("d"), Thing::Dir(bits)),
            (path("d/x"), text("a")),
            (path("e"), Thing::Dir(0o755)),
            (path("e/y"), text("a")),
        ]
        .into();
        let mut target = last.clone();
        target.insert(path("d/x"), text("b"));
        target.remove(&path("e/y"));
        let (chunks, dir) = (MemoryChunks::default(), temporary());
        write(dir.path(), &last);
        std::fs::hard_link(dir.path().join("d/x"), dir.path().join("e/other")).unwrap();
        let setuid = std::fs::Permissions::from_mode(0o4644);
        std::fs::set_permissions(dir.path().join("e/y"), setuid).unwrap();
        let trees = Trees {
            contents: &chunks,
            last: Some(chunks.tree(&last)),
            target: chunks.tree(&target),
            says: crate::tree::Budget::unbounded(),
            present: chunks.tree(&last),
            skips: &[],
            last_skips: &[],
            target_skips: &[],
            choices: &Choices::default(),
            elsewhere: false,
            by_hand: &std::collections::BTreeSet::new(),
            authors: None,
        };
        let mut planned = make(&trees, &mut chunks.keep()).unwrap();
        planned.preview.needs = needs;
        let folder = Folder::new(at_root(dir.path()).unwrap(), None).unwrap();
        look_at_folder(&folder, &planned.actions, &mut planned.preview).unwrap();
        planned.preview
    }

    #[test]
    fn a_plan_says_what_the_folder_says() {
        let preview = preview_of(0, true);
        // A read-only folder of the user is opened, and is not a conflict.
        assert_eq!(preview.conflicts, []);
        assert_eq!(preview.needs, OVERHEAD_BYTES);
        assert!(preview.free > OVERHEAD_BYTES);
        let notes: Vec<_> = preview.notes.iter().map(|n| (n.what, n.path.to_string())).collect();
        assert!(notes.contains(&(NoteWhat::Links, "d/x".to_owned())), "{notes:?}");
        assert!(notes.contains(&(NoteWhat::Bits, "e/y".to_owned())), "{notes:?}");
        assert_eq!(notes.len(), 2);
    }

    #[test]
    fn a_disk_without_room_is_in_the_way() {
        let preview = preview_of(1 << 60, false);
        let [conflict] = preview.conflicts.as_slice() else { panic!("{preview:?}") };
        assert_eq!((conflict.why, &conflict.path), (ConflictWhy::Space, &None));
    }
}
