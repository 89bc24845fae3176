//! `hooks.json`: declarations of external commands as hooks, and their locations.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost::internals::io_error;
use milepost::{Error, ErrorKind, Options, Result};
use serde::Deserialize;

use super::command::CommandHook;
use super::runner::Commands;
use super::{process, trust};

/// Name of the file, in the user's configuration and in a store.
pub(super) const FILE: &str = "hooks.json";

/// Maximum size of the file in bytes.
pub(super) const FILE_MAX: u64 = 1 << 20;

/// External commands as hooks of a store.
///
/// ```no_run
/// use milepost::{Engine, Options};
/// use milepost_runtime::hooks::CommandHooks;
///
/// let hooks = CommandHooks::for_store(".milepost")?;
/// if let Some(warning) = hooks.warning() {
///     eprintln!("{warning}");
/// }
/// let engine = Engine::open(".milepost", hooks.add_to(Options::default())?)?;
/// # let _ = engine;
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandHooks {
    hooks: Vec<CommandHook>,
    warning: Option<String>,
}

impl CommandHooks {
    /// Returns the hooks of the user's own configuration, followed by those of the store if the
    /// user has trusted them: see [`StoreHooks`](crate::hooks::StoreHooks).
    ///
    /// The user's hooks are in `$XDG_CONFIG_HOME/milepost/hooks.json`, else in
    /// `~/.config/milepost/hooks.json`; the store's are in `hooks.json` in its folder. In a process
    /// started by a hook the result is empty: a hook that records would call itself for ever.
    ///
    /// # Errors
    ///
    /// `Invalid`: a file is not a list of hooks, or other users can write the user's own file.
    /// `Unavailable`: a file cannot be read.
    pub fn for_store(dir: impl AsRef<Path>) -> Result<Self> {
        if std::env::var_os(process::VARIABLE).is_some() {
            return Ok(Self::default());
        }
        Places::from_environment().hooks_for(dir.as_ref())
    }

    /// Reads the hooks of a file that the caller trusts.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such file. Others as [`CommandHooks::for_store`].
    pub fn read(file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        let found = read(file, FILE_MAX)?;
        let found = found.ok_or_else(|| Error::not_found(format!("no {}", file.display())))?;
        Ok(Self { hooks: parse(file, &found.bytes)?, warning: None })
    }

    /// Adds a hook.
    #[must_use]
    pub fn with(mut self, hook: CommandHook) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Returns the hooks, in the order in which they are called.
    pub fn iter(&self) -> std::slice::Iter<'_, CommandHook> {
        self.hooks.iter()
    }

    /// Returns a warning, to be shown once, if there are unused hooks: the reason, and what to do.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Adds the hooks to the options of a store, after the existing ones. The commands run on one
    /// thread, except at `before` points and at events. Closing the store waits for them.
    ///
    /// # Errors
    ///
    /// `Invalid`: the declaration of a hook is wrong; the error describes the first one.
    pub fn add_to(self, options: Options) -> Result<Options> {
        check(&self.hooks).map_err(Error::invalid)?;
        Ok(match self.hooks.is_empty() {
            true => options,
            false => options.hook(Arc::new(Commands(self.hooks))),
        })
    }
}

fn check(hooks: &[CommandHook]) -> std::result::Result<(), String> {
    for (at, hook) in hooks.iter().enumerate() {
        hook.check().map_err(|why| format!("hooks[{at}]: {why}"))?;
    }
    Ok(())
}

/// Parses the content of a file.
pub(super) fn parse(file: &Path, bytes: &[u8]) -> Result<Vec<CommandHook>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Form {
        hooks: Vec<CommandHook>,
    }
    let place = file.display();
    let form: Form =
        serde_json::from_slice(bytes).map_err(|e| Error::invalid(format!("{place}: {e}")))?;
    check(&form.hooks).map_err(|why| Error::invalid(format!("{place}: {why}")))?;
    Ok(form.hooks)
}

/// Returns the folder of data that Milepost records for the user: `milepost` in XDG_DATA_HOME, or
/// in `.local/share` of HOME. Returns `None` if neither is an absolute path.
pub fn user_data_folder() -> Option<PathBuf> {
    Places::from_environment().data
}

/// Returns the folder of what programs remember of their work for the user: `milepost` in
/// XDG_STATE_HOME, or in `.local/state` of HOME. Returns `None` if neither is an absolute path.
pub fn user_state_folder() -> Option<PathBuf> {
    Places::from_environment().state
}

/// Folders of the user's files; `None` if the environment does not define them.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The folder of the user's configuration.
    pub(super) config: Option<PathBuf>,
    /// The folder of data recorded for the user.
    pub(super) data: Option<PathBuf>,
    /// The folder of what programs remember.
    pub(super) state: Option<PathBuf>,
}

impl Places {
    pub(super) fn from_environment() -> Self {
        let folder = |name: &str| {
            let dir = std::env::var_os(name).map(PathBuf::from);
            dir.filter(|dir| dir.is_absolute())
        };
        let home = folder("HOME");
        let place = |name: &str, under: &str| {
            let in_home = || home.as_ref().map(|home| home.join(under));
            folder(name).or_else(in_home).map(|dir| dir.join("milepost"))
        };
        Self {
            config: place("XDG_CONFIG_HOME", ".config"),
            data: place("XDG_DATA_HOME", ".local/share"),
            state: place("XDG_STATE_HOME", ".local/state"),
        }
    }

    /// Returns the hooks for a store: see [`CommandHooks::for_store`].
    pub(super) fn hooks_for(&self, dir: &Path) -> Result<CommandHooks> {
        let mut all = CommandHooks::default();
        if let Some(file) = self.config.as_ref().map(|dir| dir.join(FILE))
            && let Some(found) = read(&file, FILE_MAX)?
        {
            found.check_is_ours(&file)?;
            all.hooks = parse(&file, &found.bytes)?;
        }
        let file = dir.join(FILE);
        let Some(found) = read(&file, FILE_MAX)? else {
            return Ok(all);
        };
        match trust::trust_state(self, dir, &found.bytes) {
            Ok(trust::TrustState::Trusted) => all.hooks.extend(parse(&file, &found.bytes)?),
            Ok(standing) => all.warning = Some(unused(&file, standing.why())),
            // If the record of trust cannot be read, no hook of the store is used.
            Err(error) => all.warning = Some(unused(&file, &error.to_string())),
        }
        if let Some(warning) = &all.warning {
            tracing::warn!("{warning}");
        }
        Ok(all)
    }
}

fn unused(file: &Path, why: &str) -> String {
    format!(
        "the hooks in {} are not used: {why} (`milepost trust --show` lists them, `milepost trust` \
         has them used)",
        file.display()
    )
}

/// Content and metadata of a file.
#[derive(Debug)]
pub(super) struct FileContent {
    pub(super) bytes: Vec<u8>,
    owner: u32,
    mode: u32,
}

impl FileContent {
    /// Refuses a file that other users could have written.
    pub(super) fn check_is_ours(&self, file: &Path) -> Result<()> {
        let (owner, place) = (self.owner, file.display());
        let me = rustix::process::geteuid().as_raw();
        if owner != me {
            return Err(Error::invalid(format!("{place} belongs to user {owner}, not to {me}")));
        }
        if self.mode & 0o022 != 0 {
            return Err(Error::invalid(format!(
                "{place} can be written by others: `chmod go-w` it"
            )));
        }
        Ok(())
    }
}

/// Reads a file of at most `max` bytes; `None` if there is none, or its folder may not be searched.
pub(super) fn read(path: &Path, max: u64) -> Result<Option<FileContent>> {
    let looked = std::fs::symlink_metadata(path).map_err(|e| e.kind());
    if let Err(
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied,
    ) = looked
    {
        return Ok(None);
    }
    // Does not block if the path is a pipe.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|e| io_error("open", path, &e))?;
    let about = file.metadata().map_err(|e| io_error("read", path, &e))?;
    let place = path.display();
    if !about.is_file() {
        return Err(Error::invalid(format!("{place} is no file")));
    }
    let mut bytes = Vec::new();
    let read = file.take(max + 1).read_to_end(&mut bytes);
    read.map_err(|e| Error::new(ErrorKind::Unavailable, format!("cannot read {place}: {e}")))?;
    if bytes.len() as u64 > max {
        return Err(Error::invalid(format!("{place} is larger than {max} bytes")));
    }
    let (owner, mode) = (about.uid(), about.mode());
    Ok(Some(FileContent { bytes, owner, mode }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn error(text: &str) -> String {
        let error = parse(Path::new("/x/hooks.json"), text.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.to_string()
    }

    #[test]
    fn a_file_has_its_defaults_and_keeps_what_it_says() {
        let text = r#"{"hooks":[
            {"on":["event"],"run":["logger"],"kinds":["message","unknown"]},
            {"on":["before_restore","alert"],"run":["/bin/x","-y"],"timeout_ms":5,"veto":true}]}"#;
        let hooks = parse(Path::new("f"), text.as_bytes()).unwrap();
        assert_eq!(hooks[0].time_limit(), Duration::from_secs(10));
        assert!(!hooks[0].has_veto() && hooks[1].has_veto());
        assert_eq!(hooks[1].argv(), ["/bin/x", "-y"]);
        assert_eq!(hooks[1].time_limit(), Duration::from_millis(5));
    }

    #[test]
    fn what_is_wrong_in_a_file_is_said_with_its_place() {
        let unknown = error("{\"hooks\":[\n  {\"on\":[\"event\"],\"run\":[\"x\"],\"tiemout\":1}]}");
        assert!(unknown.starts_with("/x/hooks.json: unknown field `tiemout`"), "{unknown}");
        assert!(unknown.contains("line 2 column"), "{unknown}");
        assert!(
            error("{\"hooks\":[{\"on\":\"event\",\"run\":[\"x\"]}]}").contains("line 1 column")
        );
        assert!(error("{\"hooks\":[{\"on\":[\"later\"],\"run\":[\"x\"]}]}").contains("`later`"));
        assert!(error("{\"hooks\":[{\"on\":[\"event\"]}]}").contains("missing field `run`"));
        let cases = [
            (r#"{"on":["event"],"run":[]}"#, "names no program"),
            (r#"{"on":["event"],"run":["./x"]}"#, "neither an absolute path"),
            (r#"{"on":["event"],"run":["x","\u0000"]}"#, "zero byte"),
            (r#"{"on":[],"run":["x"]}"#, "`on` says nothing"),
            (r#"{"on":["event"],"run":["x"],"timeout_ms":0}"#, "1 to 600000, not 0"),
            (r#"{"on":["event"],"run":["x"],"timeout_ms":600001}"#, "not 600001"),
            (r#"{"on":["event","alert"],"run":["x"],"veto":true}"#, "`veto` is for"),
            (r#"{"on":["alert"],"run":["x"],"kinds":["message"]}"#, "`kinds` is for"),
            (r#"{"on":["event"],"run":["x"],"kinds":["mesage"]}"#, "`mesage`"),
        ];
        for (hook, what) in cases {
            let valid = r#"{"on":["event"],"run":["x"]}"#;
            let message = error(&format!("{{\"hooks\":[{valid},{hook}]}}"));
            assert!(message.contains("hooks[1]: ") && message.contains(what), "{message}");
        }
    }

    #[test]
    fn a_file_that_is_none_or_too_large_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        assert!(read(&file, FILE_MAX).unwrap().is_none());
        assert!(read(&file.join("below"), FILE_MAX).unwrap().is_none());
        std::fs::create_dir(&file).unwrap();
        assert!(read(&file, FILE_MAX).is_err());
        std::fs::remove_dir(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
        assert!(made.success());
        let error = read(&file, FILE_MAX).unwrap_err();
        assert!(error.to_string().ends_with("is no file"), "{error}");
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, vec![b' '; FILE_MAX as usize + 1]).unwrap();
        let error = CommandHooks::read(&file).unwrap_err();
        assert!(error.to_string().contains("larger than 1048576 bytes"), "{error}");
    }
}
