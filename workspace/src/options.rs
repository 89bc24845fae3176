//! Options of a workspace.

use std::time::Duration;

/// Options of a workspace. Every limit is in bytes.
///
/// ```
/// use milepost_workspace::WorkspaceOptions;
///
/// let options = WorkspaceOptions::default().max_file(1 << 20).workers(1);
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    pub(crate) max_file: u64,
    pub(crate) max_total: u64,
    pub(crate) workers: usize,
    pub(crate) anyway: bool,
    pub(crate) forget_ignored: bool,
    pub(crate) default_ignores: bool,
    pub(crate) wait: Duration,
    pub(crate) watch: bool,
    pub(crate) may_be_gone: bool,
}

impl Default for WorkspaceOptions {
    fn default() -> Self {
        Self {
            max_file: 64 << 20,
            max_total: 8 << 30,
            workers: 2,
            anyway: false,
            forget_ignored: false,
            default_ignores: true,
            wait: Duration::from_secs(10),
            watch: false,
            may_be_gone: false,
        }
    }
}

impl WorkspaceOptions {
    /// Sets the size of the largest file to capture. Larger files are listed as skipped. Default:
    /// 64 MiB.
    #[must_use]
    pub fn max_file(mut self, bytes: u64) -> Self {
        self.max_file = bytes;
        self
    }

    /// Sets the total size of a capture. From the first file on that does not fit, files are listed
    /// as skipped. Default: 8 GiB.
    #[must_use]
    pub fn max_total(mut self, bytes: u64) -> Self {
        self.max_total = bytes;
        self
    }

    /// Sets the number of threads that read files, 1 to 64. Default: 2.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.clamp(1, 64);
        self
    }

    /// Accepts the user's home, `/` and folders above the home as workspaces too. Default: they are
    /// refused.
    #[must_use]
    pub fn anyway(mut self, anyway: bool) -> Self {
        self.anyway = anyway;
        self
    }

    /// Leaves out files that were captured before and are ignored now; they stay in the folder.
    /// Default: a captured file stays captured, even if a rule ignores it.
    #[must_use]
    pub fn forget_ignored(mut self, forget: bool) -> Self {
        self.forget_ignored = forget;
        self
    }

    /// Leaves out the paths of [`DEFAULT_IGNORES`](crate::DEFAULT_IGNORES), unless a rule of the
    /// folder includes them or they were captured before. Default: yes.
    #[must_use]
    pub fn default_ignores(mut self, leave_out: bool) -> Self {
        self.default_ignores = leave_out;
        self
    }

    /// Watches the folder through kernel events, so that a scan visits only directories with
    /// changes. For handles that capture often: unchanged directories then cost nothing, whatever
    /// their size. A change without an event, such as a write through a shared mapping, is captured
    /// late, after 63 captures at worst (see `docs/WORKSPACE.md`). If the file system or the kernel
    /// does not support watching, each scan is complete: see
    /// [`CaptureReport::whole`](crate::CaptureReport::whole). Default: no.
    #[must_use]
    pub fn watch(mut self, watch: bool) -> Self {
        self.watch = watch;
        self
    }

    /// Takes a folder that does not exist for an empty one: its captured content was removed, or
    /// moved away. Default: an error, since a misspelled path does not exist either.
    #[must_use]
    pub fn may_be_gone(mut self, may: bool) -> Self {
        self.may_be_gone = may;
        self
    }

    /// Sets the time that a capture waits for the lock on the folder. Default: 10 s.
    #[must_use]
    pub fn wait(mut self, at_most: Duration) -> Self {
        self.wait = at_most;
        self
    }
}
