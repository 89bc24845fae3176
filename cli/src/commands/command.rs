//! Description of a command, which its file has: examples, needs and function.

use crate::backend::Backend;
use crate::error::Result;
use crate::output::Out;
use crate::store_locator::StoreArgs;

/// Arguments of `milepost`, and their effect.
pub type Examples = &'static [(&'static str, &'static str)];

/// A command. Its arguments are the type, and the comment of the type is its help.
pub trait CliCommand {
    /// Examples for its help and its man page.
    const EXAMPLES: Examples;

    /// The function that runs it.
    const RUN: Run<Self>;

    /// Returns the needs with these arguments. `can_pick` is set if a checkpoint can be picked on
    /// the screen.
    fn needs(&self, usual: Needs, _can_pick: bool) -> Needs {
        usual
    }

    /// Does what comes before a store is opened. Returns `false` if nothing is left to do.
    fn begin(&self, _store: &StoreArgs, _out: &mut Out) -> Result<bool> {
        Ok(true)
    }

    /// Returns the hint for a coding agent, if only the user runs this: it removes for good.
    fn left_to_user(&self) -> Option<&'static str> {
        None
    }
}

/// The function of a command, by the store that it works on.
pub enum Run<C: ?Sized> {
    /// Opens a store itself, or needs none.
    Alone(fn(&StoreArgs, &C, &mut Out) -> Result<()>),
    /// Works on an existing store, opened by this process or by another one.
    OnStore(Needs, fn(&dyn Backend, &C, &mut Out) -> Result<()>),
}

/// The needs of a command that works on an existing store.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The output is text to read, which may be longer than a screen.
    pub pager: bool,
    /// The store itself: a service cannot do it.
    pub store: bool,
    /// Nothing changes: a read-only store is enough.
    pub only_reads: bool,
    /// Changes of others are waited for, which a read-only store would not have.
    pub follows: bool,
    /// One look at the store, and no longer than the command prints.
    pub glances: bool,
    /// The command may call hooks.
    pub hooks: bool,
    /// Returns `true` if the command creates the store.
    pub creates: fn(&StoreArgs) -> bool,
    /// The command may run long, or waits for the user: other commands use its store through a
    /// socket.
    pub attached: bool,
    /// The output has tasks: another store of this project, with sessions of agents, is named.
    pub lists: bool,
}

impl Needs {
    pub const NONE: Self = Self {
        pager: false,
        store: false,
        only_reads: false,
        follows: false,
        glances: false,
        hooks: false,
        creates: |_| false,
        attached: false,
        lists: false,
    };
    pub const READS: Self = Self { only_reads: true, ..Self::NONE };
    pub const GLANCES: Self = Self { glances: true, ..Self::READS };
    pub const GLANCES_LONG: Self = Self { pager: true, ..Self::GLANCES };
    pub const FOLLOWS: Self = Self { follows: true, ..Self::NONE };
    pub const WRITES: Self = Self { hooks: true, ..Self::NONE };
    pub const PICKS: Self = Self { attached: true, ..Self::WRITES };
}
