//! The spool: documents of hooks that wait, one synced file each.
//!
//! ```text
//! STATE/spool/TIME-PID-N-AGENT.json   a document; the names are in the order of time
//! STATE/spool/.milepost-*             one that is being written
//! STATE/spool/dropped                 a byte for each document that found no room
//! ```
//!
//! Only the user can read it. The documents of a process are in the order of their counter N.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use crate::environment::Environment;

/// Most bytes of all documents.
const ROOM: u64 = 256 << 20;

/// Most documents: the names of so many are read in a tenth of a second.
const COUNT_MAX: usize = 100_000;

/// The version of an entry.
const VERSION: u32 = 1;

/// Bytes that are kept of a document that is not whole. Session and event are in front.
const KEPT_OF_CUT: usize = 64 << 10;

/// Variables that a document is kept with. All others may be secrets.
const VARIABLES: [&str; 8] = [
    "CLAUDECODE",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_PROJECT_DIR",
    "CODEX_HOME",
    "CODEX_SESSION_ID",
    "GEMINI_CLI",
    "GEMINI_CLI_HOME",
    "GEMINI_PROJECT_DIR",
];

/// Most bytes of the value of a variable.
const VALUE_MAX: usize = 4096;

/// A document of a hook, with its circumstances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolEntry {
    /// The version of this form.
    pub version: u32,
    /// The name of the agent, as the hook was called with it.
    pub agent: String,
    /// The time of the call, in microseconds since 1970.
    pub time_us: u64,
    /// The working directory of the hook.
    pub cwd: Option<String>,
    /// Variables of the environment, of a fixed list of names.
    pub env: std::collections::BTreeMap<String, String>,
    /// The processes above the hook, the nearest one first: a shell, and the agent.
    pub parents: Vec<u32>,
    /// `true` if the document did not end in time, or was too large: `payload` is its beginning.
    pub is_cut: bool,
    /// The document as it came.
    pub payload: String,
}

impl SpoolEntry {
    /// Builds the entry of a call at a time, in microseconds since 1970. `variable` returns
    /// variables of the environment.
    pub fn new(
        agent: &str,
        time_us: u64,
        payload: &[u8],
        is_cut: bool,
        variable: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Self {
        let value = |name: &&str| {
            let value = variable(name)?.to_string_lossy().into_owned();
            (value.len() <= VALUE_MAX).then(|| ((*name).to_owned(), value))
        };
        let kept = if is_cut { payload.len().min(KEPT_OF_CUT) } else { payload.len() };
        let payload = payload.get(..kept).unwrap_or_default();
        let cwd = std::env::current_dir().ok();
        Self {
            version: VERSION,
            agent: plain(agent),
            time_us,
            cwd: cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
            env: VARIABLES.iter().filter_map(value).collect(),
            parents: parents(),
            is_cut,
            payload: String::from_utf8_lossy(payload).into_owned(),
        }
    }
}

/// The result of putting a document into the spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpoolResult {
    /// The document is on the disk.
    Kept(PathBuf),
    /// The document found no room, and was counted.
    Dropped,
}

/// The folder with the documents that wait.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
    room: u64,
}

impl Spool {
    /// Returns the spool of the user. `None` if the environment has no place for it.
    pub fn of(environment: &Environment) -> Option<Self> {
        Some(Self { folder: environment.state_folder()?.join("spool"), room: ROOM })
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a document, and returns after it is on the disk.
    pub fn put(&self, entry: &SpoolEntry) -> io::Result<SpoolResult> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let written = self.write(entry);
        if !matches!(written, Ok(SpoolResult::Kept(_))) {
            self.count_dropped();
        }
        written
    }

    /// Returns the number of documents that found no room.
    pub fn dropped(&self) -> u64 {
        fs::metadata(self.folder.join("dropped")).map_or(0, |there| there.len())
    }

    fn write(&self, entry: &SpoolEntry) -> io::Result<SpoolResult> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let bytes = serde_json::to_vec(entry)?;
        let (used, count) = self.used()?;
        if count >= COUNT_MAX || used.saturating_add(bytes.len() as u64) > self.room {
            return Ok(SpoolResult::Dropped);
        }
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let SpoolEntry { time_us, agent, .. } = entry;
        let name = format!("{time_us:020}-{process:010}-{n:04}-{agent}.json");
        // Only the user can read a temporary file.
        let mut file = tempfile::Builder::new().prefix(".milepost-").tempfile_in(&self.folder)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        let place = self.folder.join(name);
        file.persist_noclobber(&place).map_err(|error| error.error)?;
        File::open(&self.folder)?.sync_all()?;
        Ok(SpoolResult::Kept(place))
    }

    /// Returns the bytes and the number of the documents.
    fn used(&self) -> io::Result<(u64, usize)> {
        let (mut bytes, mut count) = (0, 0);
        for entry in fs::read_dir(&self.folder)?.take(COUNT_MAX + 1) {
            // A document may be taken in at this moment.
            let Ok(there) = entry.and_then(|entry| entry.metadata()) else { continue };
            bytes += there.len();
            count += 1;
        }
        Ok((bytes, count))
    }

    /// Counts a document that was dropped, if at least that can be written.
    fn count_dropped(&self) {
        let path = self.folder.join("dropped");
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let _ = file.and_then(|mut file| file.write_all(b"."));
    }
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

/// Returns the parent of a process, where the system says it.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // `PID (NAME) STATE PARENT ..`, and the name may have any character.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn spool(room: u64) -> (tempfile::TempDir, Spool) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/spool");
        (dir, Spool { folder, room })
    }

    fn entry(payload: &[u8]) -> SpoolEntry {
        SpoolEntry::new("codex", 1_700_000_000_000_000, payload, false, |name| {
            Some(format!("value of {name}").into())
        })
    }

    fn names(spool: &Spool) -> Vec<String> {
        let entries = fs::read_dir(&spool.folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries.map(|entry| name(entry).into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn documents_come_back_in_order_and_only_the_user_can_read_them() {
        let (_dir, spool) = spool(ROOM);
        for n in 0..20 {
            spool.put(&entry(format!("{n}").as_bytes())).unwrap();
        }
        let read = |name: &String| {
            let path = spool.folder.join(name);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            serde_json::from_slice::<SpoolEntry>(&fs::read(path).unwrap()).unwrap()
        };
        let entries: Vec<SpoolEntry> = names(&spool).iter().map(read).collect();
        let payloads: Vec<_> = entries.iter().map(|entry| entry.payload.clone()).collect();
        assert_eq!(payloads, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
        let mode = fs::metadata(&spool.folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(entries.iter().all(|entry| !entry.parents.is_empty() && entry.agent == "codex"));
    }

    #[test]
    fn only_variables_of_the_list_are_kept() {
        let entry = entry(b"{}");
        assert_eq!(entry.env.len(), VARIABLES.len());
        assert!(entry.env.keys().all(|name| VARIABLES.contains(&name.as_str())));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (_dir, spool) = spool(1000);
        assert!(matches!(spool.put(&entry(b"{}")), Ok(SpoolResult::Kept(_))));
        for _ in 0..3 {
            let dropped = spool.put(&entry(&[b' '; 900])).unwrap();
            assert_eq!(dropped, SpoolResult::Dropped);
        }
        assert_eq!((spool.dropped(), names(&spool).len()), (3, 2));
    }

    #[test]
    fn a_document_that_is_cut_keeps_its_beginning() {
        let cut = SpoolEntry::new("../Codex", 0, &[b'a'; 100_000], true, |_| None);
        assert_eq!((cut.payload.len(), cut.is_cut), (KEPT_OF_CUT, true));
        assert_eq!((cut.agent.as_str(), plain("../").as_str()), ("odex", "unknown"));
    }
}
