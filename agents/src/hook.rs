//! Calls of hooks: a document with its circumstances, as it is sent and as it waits.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use milepost_api::{Big, HookRequest};
use milepost_codec::PathBytes;

use crate::platform::parent_of;

/// Longest wait of a hook for the daemon, from its call on: then the agent continues without an
/// answer. The rest of its time is for the disk.
pub const HOOK_WAIT: Duration = Duration::from_millis(1300);

/// Bytes that are kept of a document that is not whole. Session and event are in front.
const KEPT_OF_CUT: usize = 64 << 10;

/// Variables with the project of an agent, in the order in which they count.
pub const PROJECTS: [&str; 3] = ["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"];

/// Variables that a document is kept with. All others may be secrets.
const VARIABLES: [&str; 18] = [
    "CLAUDECODE",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_PROJECT_DIR",
    "CLINE_DIR",
    "CODEX_HOME",
    "CODEX_SESSION_ID",
    "COPILOT_CLI",
    "COPILOT_HOME",
    "CURSOR_CONFIG_DIR",
    "CURSOR_PROJECT_DIR",
    "CURSOR_VERSION",
    "GEMINI_CLI",
    "GEMINI_CLI_HOME",
    "GEMINI_PROJECT_DIR",
    "OPENCODE",
    "QWEN_CODE",
    "QWEN_HOME",
    "XDG_CONFIG_HOME",
];

/// Most bytes of the value of a variable.
const VALUE_MAX: usize = 4096;

/// A call of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// The name of the agent.
    pub agent: String,
    /// The time in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The document.
    pub payload: Vec<u8>,
    /// `true` if the document did not end in time, or was too large.
    pub is_cut: bool,
}

impl HookCall {
    /// Adds the circumstances. `variable` returns variables of the environment, `here` is the
    /// working directory.
    pub fn with(self, here: &Path, variable: impl Fn(&str) -> Option<OsString>) -> HookRequest {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let Self { agent, time_us, payload, is_cut } = self;
        let value = |name: &&str| {
            let value = variable(name)?.to_string_lossy().into_owned();
            (value.len() <= VALUE_MAX).then(|| ((*name).to_owned(), value))
        };
        let kept = if is_cut { payload.len().min(KEPT_OF_CUT) } else { payload.len() };
        let payload = match payload.get(..kept) {
            Some(kept) => String::from_utf8_lossy(kept).into_owned(),
            None => String::new(),
        };
        let home = variable("HOME").map(PathBuf::from);
        let named = PROJECTS.iter().find_map(|name| variable(name)).map(PathBuf::from);
        let named = named.filter(|path| path.is_absolute());
        let project = project_of(named.as_deref().unwrap_or(here), home.as_deref());
        HookRequest {
            id: format!("{time_us:020}-{:010}-{n:04}", std::process::id()),
            agent: plain(&agent),
            project: PathBytes::from(project.as_os_str().as_bytes()),
            time_us: Big(time_us),
            env: VARIABLES.iter().filter_map(value).collect::<BTreeMap<_, _>>(),
            parents: parents(),
            is_cut,
            payload,
        }
    }
}

/// Returns the project of a folder: the nearest folder upwards with a `.git`, or else the folder,
/// without symbolic links. A home folder with a `.git` makes nothing in it a part of it.
pub fn project_of(folder: &Path, home: Option<&Path>) -> PathBuf {
    let (folder, home) = (real(folder), home.map(real));
    let below_home = folder.ancestors().take_while(|folder| Some(*folder) != home.as_deref());
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let project = below_home.take_while(|folder| *folder != Path::new("/")).find(has_git);
    project.unwrap_or(&folder).to_owned()
}

/// Returns a path without symbolic links, so that one folder has one path. One that cannot be read
/// stays as it is.
pub fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the project that a call names, as a path.
pub fn project(asked: &HookRequest) -> &Path {
    Path::new(OsStr::from_bytes(asked.project.as_bytes()))
}

/// Returns a name with only the characters of names of agents.
fn plain(agent: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-';
    let name: String = agent.chars().filter(is_plain).take(32).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Returns the processes above this one, at most three.
fn parents() -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = Some(std::os::unix::process::parent_id());
    while let Some(process) = next.filter(|process| *process > 1 && found.len() < 3) {
        found.push(process);
        next = parent_of(process);
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;

    fn call(agent: &str, payload: &[u8], is_cut: bool) -> HookCall {
        HookCall { agent: agent.to_owned(), time_us: 7, payload: payload.to_vec(), is_cut }
    }

    #[test]
    fn only_variables_of_the_list_are_kept() {
        let asked = call("codex", b"{}", false)
            .with(Path::new("/p"), |name| Some(format!("/value of {name}").into()));
        assert_eq!(asked.env.len(), VARIABLES.len());
        assert!(asked.env.keys().all(|name| VARIABLES.contains(&name.as_str())));
        assert_eq!(project(&asked), Path::new("/value of CURSOR_PROJECT_DIR"));
        assert!(!asked.parents.is_empty());
    }

    #[test]
    fn the_parent_of_a_process_is_known() {
        assert_eq!(parent_of(std::process::id()), Some(std::os::unix::process::parent_id()));
        assert_eq!(parent_of(u32::MAX), None);
    }

    #[test]
    fn a_document_that_is_cut_keeps_its_beginning() {
        let cut = call("../Codex", &[b'a'; 100_000], true).with(Path::new("/p"), |_| None);
        assert_eq!((cut.payload.len(), cut.is_cut), (KEPT_OF_CUT, true));
        assert_eq!((cut.agent.as_str(), plain("../").as_str()), ("odex", "unknown"));
        assert_eq!(project(&cut), Path::new("/p"));
    }

    #[test]
    fn a_project_has_a_git_folder_and_a_home_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let home = real(dir.path()).join("home");
        let (work, deep) = (home.join("work"), home.join("work/a/b"));
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(project_of(&deep, Some(&home)), deep);
        fs::create_dir(home.join(".git")).unwrap();
        assert_eq!(project_of(&deep, Some(&home)), deep);
        assert_eq!(project_of(&home, Some(&home)), home);
        fs::create_dir(work.join(".git")).unwrap();
        assert_eq!(project_of(&deep, Some(&home)), work);
        assert_eq!(project_of(Path::new("/"), Some(&home)), Path::new("/"));
    }

    #[test]
    fn a_folder_is_one_project_behind_symbolic_links_too() {
        let dir = tempfile::tempdir().unwrap();
        let top = real(dir.path());
        let (home, link) = (top.join("home"), top.join("link"));
        fs::create_dir_all(home.join("shop/a")).unwrap();
        fs::create_dir(home.join(".git")).unwrap();
        std::os::unix::fs::symlink(&home, &link).unwrap();
        for (folder, home) in [(&link, &home), (&home, &link), (&link, &link)] {
            let work = folder.join("shop/a");
            assert_eq!(project_of(&work, Some(home)), top.join("home/shop/a"));
            assert_eq!(project_of(folder, Some(home)), top.join("home"));
        }
        let variable = |name: &str| (name == "CLAUDE_PROJECT_DIR").then(|| link.clone().into());
        let asked = call("claude-code", b"{}", false).with(Path::new("/p"), variable);
        assert_eq!(project(&asked), home);
    }
}
