//! The needs of each command: of the store, of hooks and of the screen.

use crate::args::Command;

/// The needs of a command that works on an existing store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// The output is text to read, which may be longer than a screen.
    pub(super) pager: bool,
    /// The store itself: a service cannot do it.
    pub(super) store: bool,
    /// Nothing changes: a read-only store is enough.
    pub(super) only_reads: bool,
    /// One look at the store, and no longer than the command prints.
    pub(super) glances: bool,
    /// The command may call hooks.
    pub(super) hooks: bool,
    /// The command creates the store if there is none.
    pub(super) creates: bool,
    /// The command may run long, or waits for the user: other commands use its store through a
    /// socket.
    pub(super) attached: bool,
}

const NONE: Needs = Needs {
    pager: false,
    store: false,
    only_reads: false,
    glances: false,
    hooks: false,
    creates: false,
    attached: false,
};
const READS: Needs = Needs { only_reads: true, ..NONE };
const GLANCES: Needs = Needs { glances: true, ..READS };
const GLANCES_LONG: Needs = Needs { pager: true, ..GLANCES };
const WRITES: Needs = Needs { hooks: true, ..NONE };

impl Needs {
    /// Returns the needs of a command. `can_pick` is set if a checkpoint can be picked on the
    /// screen.
    pub(super) fn of(command: &Command, can_pick: bool) -> Self {
        let restores = |dry_run: bool| if dry_run { READS } else { WRITES };
        let picks = Self { hooks: true, attached: true, ..NONE };
        // No wildcard: a new command has to say what it needs.
        match command {
            Command::Tasks(_) | Command::Lineages(_) | Command::Show(_) => GLANCES_LONG,
            Command::State(_) | Command::Blame(_) | Command::Checkpoints(_) => GLANCES_LONG,
            Command::States(_) | Command::Pins(_) | Command::Files(_) => GLANCES_LONG,
            Command::Search(_) | Command::Compare(_) | Command::Transcript(_) => GLANCES_LONG,
            Command::Diff(args) => Self { store: args.files, ..GLANCES_LONG },
            Command::Log(args) if args.follow => NONE,
            Command::Log(_) => GLANCES_LONG,
            Command::Cat(_) => GLANCES,
            Command::Stats(_) | Command::Anchor => READS,
            Command::Verify(_) => Self { attached: true, ..READS },
            Command::Share(_) => Self { attached: true, ..READS },
            Command::Export(_) => Self { store: true, attached: true, ..READS },
            Command::Replay(args) => Self { store: args.check, glances: !args.check, ..READS },
            Command::Bisect(args) => {
                Self { store: true, attached: true, only_reads: args.by_hand.is_none(), ..NONE }
            }
            Command::Tui(_) => picks,
            Command::Checkpoint(_) if can_pick => picks,
            Command::Checkpoint(_) => GLANCES,
            Command::Restore(args) => match &args.address {
                Some(_) => restores(args.options.dry_run),
                None if can_pick => picks,
                None => NONE,
            },
            Command::Undo(args) => restores(args.options.dry_run),
            Command::Rollback(args) => restores(args.back.options.dry_run),
            Command::Recover(_) => WRITES,
            Command::Capture(_) => Self { creates: true, ..WRITES },
            Command::Mark(args) => Self { creates: args.address.is_none(), ..WRITES },
            Command::Guide(_) | Command::Edit(_) => WRITES,
            Command::Pause(_) | Command::Resume(_) | Command::Stop(_) => WRITES,
            Command::Cleanup(args) => Self { only_reads: args.dry_run, ..NONE },
            Command::Compact(_) => Self { attached: true, ..NONE },
            Command::Pin(_) | Command::Unpin(_) | Command::Delete(_) | Command::Erase(_) => NONE,
            Command::Branch(_) | Command::Jobs(_) => NONE,
            Command::Switch(_) | Command::Redo(_) => WRITES,
            Command::Ui(_) => Self { store: true, ..WRITES },
            Command::Start(_) => Self { creates: true, ..WRITES },
            // These open a store themselves, or none.
            Command::Demo(_) | Command::DemoWorker(_) | Command::Record(_) => NONE,
            Command::Init(_) | Command::Agent(_) | Command::Rewind(_) => NONE,
            Command::Import(_) | Command::Run(_) | Command::Serve(_) | Command::Token(_) => NONE,
            Command::Repair(_) | Command::Doctor | Command::Key(_) | Command::Trust(_) => NONE,
            Command::Config(_) | Command::Openapi | Command::Webhook(_) => NONE,
            Command::Completions(_) | Command::Man(_) => NONE,
        }
    }
}
