//! Restores, undos, switches and redos, and their answers.

use milepost_client::ErrorKind;
use milepost_client::api::{Big, BranchRequest, ChoicesRequest, SwitchRequest, UndoFolderRequest};
use milepost_client::calls::{
    Branch, Folders, PlanRestore, PlanUndo, Redo, Restore, Switch, Task, Undo,
};
use milepost_client::codec::{Scope, TreePath};

use crate::served::{Served, branch_of, restore_of, undo_of};

/// Returns a request of a restore of the folder.
fn with_files(served: &Served, address: &str, scope: Scope) -> Restore {
    let mut restore = restore_of(address);
    restore.body.scope = Some(scope);
    restore.body.folder = Some(served.folder());
    restore
}

/// Returns the decision that a path gets its captured content.
fn taking(path: &str) -> ChoicesRequest {
    let theirs = vec![TreePath::new(path.as_bytes()).unwrap()];
    ChoicesRequest { theirs, ..ChoicesRequest::default() }
}

pub async fn plan_restore() {
    let served = Served::with_files().await;
    let client = served.client();
    let plan = client.call(&PlanRestore::new(restore_of("essay@one").body)).await.unwrap();
    assert_eq!((plan.scope, plan.to.offset), (Scope::State, Big(3)));
    assert!(!plan.changes.is_empty() && plan.files.is_none());
    std::fs::write(served.folder().join("draft.md"), "# Two\n").unwrap();
    let files = with_files(&served, "essay@files", Scope::Files).body;
    let plan = client.call(&PlanRestore::new(files)).await.unwrap();
    let conflicts = &plan.files.unwrap()["conflicts"];
    assert_eq!(conflicts.as_array().unwrap().len(), 1);
    assert_eq!(served.client().call(&Task::new("essay")).await.unwrap().lineages, 1);
}

pub async fn restore() {
    let served = Served::with_files().await;
    let client = served.client();
    let mut back = restore_of("essay@one");
    back.body.description = Some("once more".into());
    let went = client.call(&back).await.unwrap();
    assert_eq!((went.task.active.0, went.lineage.id.0), (1, 1));
    assert_eq!(went.lineage.description.as_deref(), Some("once more"));
    let draft = served.folder().join("draft.md");
    std::fs::write(&draft, "# Two\n").unwrap();
    let mut both = with_files(&served, "essay/0@files", Scope::All);
    let error = client.call(&both).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    both.body.choices = Some(taking("draft.md"));
    let went = client.call(&both).await.unwrap();
    assert!(went.files.is_some());
    assert_eq!(std::fs::read_to_string(draft).unwrap(), "# One\n");
}

pub async fn undo() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.call(&restore_of("essay@one")).await.unwrap();
    let undone = client.call(&undo_of("essay")).await.unwrap();
    assert_eq!(undone.task.active.0, 0);
    let error = client.call(&undo_of("essay")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

pub async fn plan_undo() {
    let served = Served::with_files().await;
    let client = served.client();
    let draft = served.folder().join("draft.md");
    let asked = UndoFolderRequest::default();
    let error = client.call(&PlanUndo::new("essay", asked.clone())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    std::fs::write(&draft, "# Two\n").unwrap();
    let mut both = with_files(&served, "essay@files", Scope::All);
    both.body.choices = Some(taking("draft.md"));
    client.call(&both).await.unwrap();
    let asked = UndoFolderRequest { folder: Some(served.folder()), choices: None };
    let plan = client.call(&PlanUndo::new("essay", asked.clone())).await.unwrap();
    assert_eq!((plan.scope, plan.to.lineage.0), (Scope::All, 0));
    assert_eq!(plan.files.unwrap()["changes"][0]["path"], "draft.md");
    let undone = client.call(&Undo::new("essay", asked.clone())).await.unwrap();
    assert_eq!((undone.task.active.0, undone.kept), (0, Some(Vec::new())));
    assert_eq!(std::fs::read_to_string(draft).unwrap(), "# Two\n");
}

pub async fn folders() {
    let served = Served::with_files().await;
    let client = served.client();
    let found = client.call(&Folders::new("essay")).await.unwrap();
    let [folder] = &found.items[..] else { panic!("{found:?}") };
    let path = served.folder().canonicalize().unwrap();
    assert_eq!(folder.folder.as_bytes(), path.as_os_str().as_encoded_bytes());
    assert!(folder.exists && folder.time.is_some() && !found.more);
    assert_eq!(client.files(&folder.at).await.unwrap().items.len(), 3);
    let error = client.call(&Folders::new("nothing")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn switch() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.call(&branch_of("essay@one", None)).await.unwrap();
    let switched = client.call(&Switch::new("essay", SwitchRequest { lineage: 1 })).await.unwrap();
    assert_eq!((switched.task.active.0, switched.lineage.id.0), (1, 1));
    assert_eq!(client.call(&undo_of("essay")).await.unwrap().task.active.0, 0);
    let error = client.call(&Switch::new("essay", SwitchRequest { lineage: 2 })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let asked = BranchRequest { activate: true, ..BranchRequest::default() };
    let opened = client.call(&Branch::new("essay@one", asked.clone())).await.unwrap();
    assert_eq!((opened.id.0, opened.active), (2, true));
}

pub async fn redo() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.call(&restore_of("essay@one")).await.unwrap();
    client.call(&undo_of("essay")).await.unwrap();
    assert_eq!(client.call(&Redo::new("essay")).await.unwrap().task.active.0, 1);
    let error = client.call(&Redo::new("essay")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}
