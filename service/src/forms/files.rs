//! Conversions of captured files.

use std::os::unix::ffi::OsStrExt as _;

use milepost::hooks::{WorkspaceChange, WorkspaceState};
use milepost_api::{
    Big, FileChangeForm, FileChangeKind, FileChangesForm, FileForm, WorkspaceStateForm, micros,
};
use milepost_codec::Item;
use milepost_workspace::{EntryKind, FileChanges, PathBytes, SnapshotEntry, TreePath};

/// Converts an entry of a captured folder.
pub fn file(entry: SnapshotEntry) -> FileForm {
    file_form(entry.path, entry.item)
}

fn file_form(path: TreePath, item: Item) -> FileForm {
    let (kind, mode) = (item.kind, item.mode);
    let is_file = kind.is_file();
    FileForm {
        path,
        kind: match kind {
            EntryKind::Directory { .. } => "directory".into(),
            EntryKind::Link { .. } => "link".into(),
            _ => "file".into(),
        },
        mode: format!("{mode:04o}"),
        size: kind.file_len().map(Big),
        hash: kind.file_hash(),
        unstable: is_file.then(|| kind.is_unstable()),
        target: match kind {
            EntryKind::Link { target } => Some(PathBytes(target)),
            _ => None,
        },
    }
}

/// Returns the first changes, in order of paths.
pub fn file_changes(changes: FileChanges, most: usize) -> FileChangesForm {
    let mut items = Vec::new();
    let mut put = |change, from: Option<(TreePath, Item)>, to: Option<(TreePath, Item)>| {
        let form = |(path, item)| file_form(path, item);
        items.push(FileChangeForm { change, before: from.map(form), after: to.map(form) });
    };
    for entry in changes.added {
        put(FileChangeKind::Added, None, Some((entry.path, entry.item)));
    }
    for entry in changes.removed {
        put(FileChangeKind::Removed, Some((entry.path, entry.item)), None);
    }
    for entry in changes.left_out {
        put(FileChangeKind::LeftOut, Some((entry.path, entry.item)), None);
    }
    for entry in changes.taken_in {
        put(FileChangeKind::TakenIn, None, Some((entry.path, entry.item)));
    }
    let changed = changes.changed.into_iter().map(|change| (FileChangeKind::Changed, change));
    let modes = changes.modes.into_iter().map(|change| (FileChangeKind::Mode, change));
    for (kind, change) in changed.chain(modes) {
        let before = (change.path.clone(), change.before);
        put(kind, Some(before), Some((change.path, change.after)));
    }
    for renamed in changes.renamed {
        let (from, to) = (renamed.from, renamed.to);
        put(FileChangeKind::Renamed, Some((from.path, from.item)), Some((to.path, to.item)));
    }
    items.sort_by(|a, b| a.path().cmp(&b.path()));
    let more = items.len() > most;
    items.truncate(most);
    FileChangesForm { items, more }
}

/// Converts the last change of a task's workspace.
pub fn workspace_state(task: &str, change: Option<WorkspaceChange>) -> WorkspaceStateForm {
    let change = change.as_ref();
    let number = |of: fn(&WorkspaceChange) -> u64| change.map(of).map(Big);
    WorkspaceStateForm {
        task: task.to_owned(),
        state: change.map_or(WorkspaceState::Idle, |change| change.state).name().to_owned(),
        before: change.map(|change| change.before.name().to_owned()),
        folder: change.map(|change| PathBytes::from(change.folder.as_os_str().as_bytes())),
        since: change.map(|change| micros(change.time_us)),
        since_us: number(|change| change.time_us),
        files: number(|change| change.files),
        bytes: number(|change| change.bytes),
        read: number(|change| change.read),
        took_us: number(|change| change.took_us),
        error: change.and_then(|change| change.error.clone()),
    }
}
