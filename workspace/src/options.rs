//! How a workspace is looked at.

use std::time::Duration;

/// How a workspace is looked at. Every limit is in bytes.
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
    pub(crate) wait: Duration,
    pub(crate) watch: bool,
}

impl Default for WorkspaceOptions {
    fn default() -> Self {
        Self {
            max_file: 64 << 20,
            max_total: 8 << 30,
            workers: 2,
            anyway: false,
            forget_ignored: false,
            wait: Duration::from_secs(10),
            watch: false,
        }
    }
}

impl WorkspaceOptions {
    /// The largest file that is taken. Larger ones are listed as left out. Default: 64 MiB.
    #[must_use]
    pub fn max_file(mut self, bytes: u64) -> Self {
        self.max_file = bytes;
        self
    }

    /// How much is taken in all. From the first file on that does not fit, files are listed as left
    /// out. Default: 8 GiB.
    #[must_use]
    pub fn max_total(mut self, bytes: u64) -> Self {
        self.max_total = bytes;
        self
    }

    /// How many threads read files, 1 to 64. Default: 2.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.clamp(1, 64);
        self
    }

    /// Takes the user's home, `/` and folders above the home for workspaces too. Default: they are
    /// refused.
    #[must_use]
    pub fn anyway(mut self, anyway: bool) -> Self {
        self.anyway = anyway;
        self
    }

    /// Lets go of what was captured once and is ignored now: it is left out, and stays in the
    /// folder. Default: what was captured once stays so, whatever rules say.
    #[must_use]
    pub fn forget_ignored(mut self, forget: bool) -> Self {
        self.forget_ignored = forget;
        self
    }

    /// Lets the kernel tell in which folders something happened, so that a look goes only there.
    /// For handles that capture often: what nothing happened in costs nothing then, however large
    /// it is. What no event tells of is seen late, at worst after 63 captures: writes through a
    /// shared mapping, say (`docs/WORKSPACE.md` has all of it). Where the file system or the kernel
    /// does not lend itself to it, each look is a whole one: see
    /// [`CaptureReport::whole`](crate::CaptureReport::whole). Default: no.
    #[must_use]
    pub fn watch(mut self, watch: bool) -> Self {
        self.watch = watch;
        self
    }

    /// How long a capture waits for somebody else's lock on the folder. Default: 10 s.
    #[must_use]
    pub fn wait(mut self, at_most: Duration) -> Self {
        self.wait = at_most;
        self
    }
}
