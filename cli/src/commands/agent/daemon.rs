//! The daemon of a project, as its hooks see it.

use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use milepost_api::{HookRequest, HookTakenForm};
use milepost_client::ClientBuilder;
use tokio::runtime::Builder;

use crate::commands::allocator;
use crate::error::CONFLICT;
use crate::outside;
use crate::program;
use crate::store_locator::SOCKET;

/// The wait between two attempts to reach a daemon that starts.
const STEP: Duration = Duration::from_millis(5);

/// The time after which a daemon is started once more where the first one ended: another process
/// may have had the store for a moment.
const AGAIN: Duration = Duration::from_millis(200);

/// Variables that a daemon is started with. Agents have secrets in others.
const VARIABLES: [&str; 16] = [
    "HOME",
    "PATH",
    "USER",
    "USERNAME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "TMPDIR",
    "LANG",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "QWEN_HOME",
    "COPILOT_HOME",
    "CLINE_DIR",
    "CURSOR_CONFIG_DIR",
];

/// Has the daemon of the document's project record it; starts the daemon if there is none. `None`
/// if it was not recorded in time.
#[allow(clippy::disallowed_methods, reason = "the wait for another process, not a recorded time")]
pub(super) fn send(asked: &HookRequest, limit: Duration) -> Option<HookTakenForm> {
    let end = Instant::now() + limit;
    let project = milepost_agents::project(asked);
    let store = outside::store_of(project)?;
    let socket = store.join(SOCKET);
    if !answers(&socket) {
        let mut daemon = start(project)?;
        let mut again = Some(Instant::now() + AGAIN);
        while !answers(&socket) {
            let now = Instant::now();
            if now >= end {
                return None;
            }
            match daemon.try_wait() {
                Ok(None) => {}
                // Another process has the store: it may answer soon, or close it.
                Ok(Some(status)) if has_no_store(status) => {
                    let is_time = again.take_if(|again| now >= *again).is_some();
                    if is_time {
                        daemon = start(project)?;
                    }
                }
                // It can have no store.
                _ if !answers(&socket) => return None,
                _ => {}
            }
            std::thread::sleep(STEP);
        }
    }
    let left = end.saturating_duration_since(Instant::now());
    let client = ClientBuilder::unix(&socket).tries(1).timeout(left).build().ok()?;
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let taken =
        runtime.block_on(async { tokio::time::timeout(left, client.take_hook(asked)).await });
    taken.ok()?.ok()
}

/// Starts the daemon of a project, unless one answers. Returns `false` if it cannot be started.
pub(super) fn ensure(project: &Path) -> bool {
    let socket = outside::store_of(project).map(|store| store.join(SOCKET));
    socket.is_some_and(|socket| answers(&socket) || start(project).is_some())
}

/// Returns `true` for the end of a daemon whose store was in use.
fn has_no_store(status: ExitStatus) -> bool {
    status.success() || status.code() == Some(i32::from(CONFLICT))
}

/// Returns `true` if a program listens at a socket.
pub(super) fn answers(socket: &Path) -> bool {
    milepost_sockets::connect(socket).is_ok()
}

/// Starts the daemon of a project.
fn start(project: &Path) -> Option<Child> {
    let mut command = program::current().ok()?.command();
    command.env_clear().envs(VARIABLES.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        Some((*name, value))
    }));
    command.env(allocator::VARIABLE, allocator::SETTINGS);
    command.args(["agent", "serve", "--project"]).arg(project).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It outlives this process.
    command.spawn().ok()
}
