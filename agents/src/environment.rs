//! Variables of the environment that name places.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The environment variables that Milepost reads, with their values. A relative path counts as
/// missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    home: Option<PathBuf>,
    claude_config_dir: Option<PathBuf>,
    codex_home: Option<PathBuf>,
    gemini_cli_home: Option<PathBuf>,
    qwen_home: Option<PathBuf>,
    copilot_home: Option<PathBuf>,
    cline_dir: Option<PathBuf>,
    cursor_config_dir: Option<PathBuf>,
    xdg_config_home: Option<PathBuf>,
    xdg_state_home: Option<PathBuf>,
    path: Option<OsString>,
}

impl Environment {
    /// Takes the variables from a function that returns the value of a name.
    pub fn new(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Self {
            home: folder("HOME"),
            claude_config_dir: folder("CLAUDE_CONFIG_DIR"),
            codex_home: folder("CODEX_HOME"),
            gemini_cli_home: folder("GEMINI_CLI_HOME"),
            qwen_home: folder("QWEN_HOME"),
            copilot_home: folder("COPILOT_HOME"),
            cline_dir: folder("CLINE_DIR"),
            cursor_config_dir: folder("CURSOR_CONFIG_DIR"),
            xdg_config_home: folder("XDG_CONFIG_HOME"),
            xdg_state_home: folder("XDG_STATE_HOME"),
            path: variable("PATH"),
        }
    }

    /// Returns the folder of the user.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    pub(crate) fn claude(&self) -> Option<PathBuf> {
        self.or_in_home(self.claude_config_dir.as_ref(), ".claude")
    }

    pub(crate) fn codex(&self) -> Option<PathBuf> {
        self.or_in_home(self.codex_home.as_ref(), ".codex")
    }

    pub(crate) fn gemini(&self) -> Option<PathBuf> {
        Some(self.gemini_cli_home.as_deref().or(self.home())?.join(".gemini"))
    }

    pub(crate) fn qwen(&self) -> Option<PathBuf> {
        self.or_in_home(self.qwen_home.as_ref(), ".qwen")
    }

    pub(crate) fn copilot(&self) -> Option<PathBuf> {
        self.or_in_home(self.copilot_home.as_ref(), ".copilot")
    }

    pub(crate) fn cline(&self) -> Option<PathBuf> {
        self.or_in_home(self.cline_dir.as_ref(), ".cline")
    }

    pub(crate) fn cursor(&self) -> Option<PathBuf> {
        self.or_in_home(self.cursor_config_dir.as_ref(), ".cursor")
    }

    pub(crate) fn opencode(&self) -> Option<PathBuf> {
        Some(self.or_in_home(self.xdg_config_home.as_ref(), ".config")?.join("opencode"))
    }

    /// Returns the folder that a variable names, or else one in the home.
    fn or_in_home(&self, named: Option<&PathBuf>, name: &str) -> Option<PathBuf> {
        named.cloned().or_else(|| Some(self.home()?.join(name)))
    }

    /// Returns the folder for what Milepost keeps of agents between its runs: `milepost` in
    /// XDG_STATE_HOME or `~/.local/state`.
    pub fn state_folder(&self) -> Option<PathBuf> {
        Some(self.or_in_home(self.xdg_state_home.as_ref(), ".local/state")?.join("milepost"))
    }

    /// Searches PATH for a program. Relative folders in it are skipped: they belong to the current
    /// folder, which may belong to any user.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(self.path.as_ref()?);
        let files = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
        files.into_iter().find(|file| is_program(file))
    }
}

/// Returns `true` for a file that this user may run.
pub(crate) fn is_program(file: &Path) -> bool {
    use rustix::fs::{Access, access};
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(values: &[(&str, &str)]) -> Environment {
        Environment::new(|name| {
            values.iter().find(|(one, _)| *one == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_state_is_in_xdg_state_home_or_in_the_home() {
        let folder = |values: &[(&str, &str)]| environment(values).state_folder();
        let both = [("HOME", "/home/ana"), ("XDG_STATE_HOME", "/s")];
        assert_eq!(folder(&both), Some("/s/milepost".into()));
        let relative = [("HOME", "/home/ana"), ("XDG_STATE_HOME", "s")];
        assert_eq!(folder(&relative), Some("/home/ana/.local/state/milepost".into()));
        assert_eq!(folder(&[("HOME", "")]), None);
    }

    #[test]
    fn programs_are_not_found_in_the_current_folder() {
        assert!(environment(&[("PATH", ".:/bin:/usr/bin")]).program("sh").is_some());
        assert_eq!(environment(&[("PATH", "src:.")]).program("lib.rs"), None);
        assert_eq!(environment(&[("PATH", "/usr")]).program("bin"), None);
    }
}
