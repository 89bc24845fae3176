//! A store that is served on a free port of this machine.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use milepost::events::{Message, StepFinished};
use milepost::{Engine, Mark, Options};
use milepost_client::api::{
    BranchRequest, CheckpointRequest, GuidanceRequest, MarkRequest, RestoreRequest, TaskRequest,
    UndoFolderRequest,
};
use milepost_client::calls::{self, Branch, Guide, Restore, StartTask, Undo};
use milepost_client::{Client, ClientBuilder};
use milepost_server::{Listening, NewToken, Server, ServerOptions, Tokens};
use milepost_workspace::{Workspace, WorkspaceOptions};
use tokio::net::TcpListener;

/// Time limit for an expected event.
pub const LONG: Duration = Duration::from_secs(60);

/// A store that is served.
pub struct Served {
    pub dir: tempfile::TempDir,
    pub engine: Engine,
    pub tokens: Tokens,
    pub server: Server,
    pub at: SocketAddr,
}

impl Served {
    /// An empty one.
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
        let tokens = Tokens::of_store(dir.path().join("store"));
        let server = Server::new(&engine, tokens.clone(), ServerOptions::default()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        serve(&server, listener);
        Self { dir, engine, tokens, server, at }
    }

    /// One with a task: a message, a step, the checkpoint `one` at 3, and another message. The head
    /// is 5.
    pub async fn with_essay() -> Self {
        let served = Self::new().await;
        let task = served.engine.start_task("essay", "local").unwrap();
        task.append(Message::text("user", "hello")).unwrap();
        let step = StepFinished { step: 1, ..Default::default() };
        task.append(step).unwrap();
        task.checkpoint(Mark::new().label("one")).unwrap();
        task.append(Message::text("assistant", "hi")).unwrap();
        served
    }

    /// The same with a folder that was captured as `files`.
    pub async fn with_files() -> Self {
        let served = Self::with_essay().await;
        std::fs::create_dir_all(served.folder().join("src")).unwrap();
        std::fs::write(served.folder().join("src/a b%.bin"), long()).unwrap();
        std::fs::write(served.folder().join("draft.md"), "# One\n").unwrap();
        let workspace = Workspace::open(served.folder(), WorkspaceOptions::default()).unwrap();
        let task = served.engine.task("essay").unwrap();
        let mark = Some(Mark::new().label("files"));
        workspace.capture(&served.engine, &task, mark).unwrap();
        served
    }

    pub fn folder(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    pub fn client(&self) -> Client {
        Client::new(&self.url()).unwrap()
    }

    /// A client with a token of this user.
    pub fn client_of(&self, user: &str, admin: bool) -> Client {
        let new = NewToken { user: user.into(), admin, ..NewToken::default() };
        let (_, token) = self.tokens.create(&new, 1).unwrap();
        let builder = ClientBuilder::new(&self.url()).token(token);
        builder.build().unwrap()
    }

    pub fn head(&self, task: &str) -> u64 {
        self.engine.task(task).unwrap().head().unwrap().next
    }
}

/// Serves until the test is over.
pub fn serve(server: &Server, listening: impl Into<Listening>) {
    let (server, listening) = (server.clone(), listening.into());
    tokio::spawn(async move { server.serve(listening, std::future::pending()).await });
}

/// Bytes of a file that comes in many pieces.
pub fn long() -> Vec<u8> {
    (0..700_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as u8).collect()
}

/// Returns a request of a branch that does not become active.
pub fn branch_of(address: &str, description: Option<&str>) -> Branch {
    let description = description.map(str::to_owned);
    Branch::new(address, BranchRequest { description, activate: false })
}

/// Returns a request of an undo without a folder.
pub fn undo_of(task: &str) -> Undo {
    Undo::new(task, UndoFolderRequest::default())
}

/// Returns a request of a restore of the state.
pub fn restore_of(address: &str) -> Restore {
    Restore::new(RestoreRequest { to: address.to_owned(), ..RestoreRequest::default() })
}

/// Returns a request of a task without an initial state.
pub fn start_of(task: &str) -> StartTask {
    StartTask::new(TaskRequest { id: task.to_owned(), ..TaskRequest::default() })
}

/// Returns a request of guidance of the task `essay`.
pub fn guide_of(text: &str) -> Guide {
    Guide::new("essay", GuidanceRequest { text: text.to_owned(), target: None })
}

/// Returns a request of a mark at the head of the task `essay`.
pub fn mark_of(label: Option<&str>) -> calls::Mark {
    let label = label.map(str::to_owned);
    calls::Mark::new("essay", CheckpointRequest { label, ..CheckpointRequest::default() })
}

/// Returns a mark of an append.
pub fn labelled(label: &str) -> MarkRequest {
    MarkRequest { label: Some(label.to_owned()), ..MarkRequest::default() }
}
