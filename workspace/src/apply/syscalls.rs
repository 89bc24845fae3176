//! System calls that change something. All of them pass through here, so that a test can stop a
//! restore before each and examine the result.

use std::cell::Cell;
use std::fs::File;
use std::os::fd::AsFd;

use crate::fs::{Dir, Errno, Kind, SYNCS_FILE_SYSTEMS, set_bits};

/// Kind of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    MakeDirectory,
    MakeFile,
    MakeLink,
    Write,
    Bits,
    Exchange,
    Move,
    Link,
    Remove,
    RemoveDirectory,
    Sync,
}

/// Caller of changing system calls.
pub(super) struct Syscalls<'a> {
    before: &'a (dyn Fn(Call) -> Result<(), Errno> + Sync),
    /// `true` if the file system cannot exchange, or not move without overwriting.
    no_exchange: Cell<bool>,
    no_move: Cell<bool>,
}

type Done<T = ()> = Result<T, Errno>;

impl<'a> Syscalls<'a> {
    pub(super) fn new(before: &'a (dyn Fn(Call) -> Result<(), Errno> + Sync)) -> Self {
        Self { before, no_exchange: Cell::new(false), no_move: Cell::new(false) }
    }

    pub(super) fn make_directory(&self, dir: &Dir, name: &[u8]) -> Done<Dir> {
        (self.before)(Call::MakeDirectory)?;
        dir.make_directory(name)
    }

    pub(super) fn make_file(&self, dir: &Dir, name: &[u8]) -> Done<File> {
        (self.before)(Call::MakeFile)?;
        dir.make_file(name)
    }

    pub(super) fn make_link(&self, dir: &Dir, name: &[u8], target: &[u8]) -> Done {
        (self.before)(Call::MakeLink)?;
        dir.make_link(name, target)
    }

    /// Announces a write to a file.
    pub(super) fn write(&self) -> Done {
        (self.before)(Call::Write)
    }

    pub(super) fn file_bits(&self, file: &File, bits: u16) -> Done {
        (self.before)(Call::Bits)?;
        set_bits(file.as_fd(), bits)
    }

    /// Sets the mode bits of a directory if they differ.
    pub(super) fn bits(&self, dir: &Dir, bits: u16) -> Done {
        if dir.itself()?.stamp.bits() == bits {
            return Ok(());
        }
        (self.before)(Call::Bits)?;
        dir.set_bits(bits)
    }

    /// Exchanges two names. Returns `false` if the file system cannot.
    pub(super) fn exchange(&self, a: (&Dir, &[u8]), b: (&Dir, &[u8])) -> Done<bool> {
        if self.no_exchange.get() {
            return Ok(false);
        }
        let done = (self.before)(Call::Exchange).and_then(|()| a.0.exchange(a.1, b.0, b.1));
        match done {
            Ok(()) => Ok(true),
            Err(error) if is_refused(error) => {
                self.no_exchange.set(true);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Moves an entry to a free name. `EEXIST`: the name is in use.
    pub(super) fn put(&self, from: (&Dir, &[u8]), to: (&Dir, &[u8])) -> Done {
        if !self.no_move.get() {
            let done = (self.before)(Call::Move).and_then(|()| from.0.move_to(from.1, to.0, to.1));
            match done {
                Err(error) if is_refused(error) => self.no_move.set(true),
                done => return done,
            }
        }
        // Link the new name, then remove the old one: nothing is overwritten. Directories have no
        // hard links; a move replaces at most an empty one.
        if from.0.look(from.1)?.kind == Kind::Directory {
            if to.0.look(to.1).is_ok() {
                return Err(Errno::EXIST);
            }
            (self.before)(Call::Move)?;
            return from.0.move_onto(from.1, to.0, to.1);
        }
        (self.before)(Call::Link)?;
        from.0.link(from.1, to.0, to.1)?;
        self.remove(from.0, from.1)
    }

    pub(super) fn remove(&self, dir: &Dir, name: &[u8]) -> Done {
        (self.before)(Call::Remove)?;
        dir.remove(name)
    }

    pub(super) fn remove_directory(&self, dir: &Dir, name: &[u8]) -> Done {
        (self.before)(Call::RemoveDirectory)?;
        dir.remove_directory(name)
    }

    pub(super) fn sync(&self, dir: &Dir) -> Done {
        (self.before)(Call::Sync)?;
        dir.sync()
    }

    pub(super) fn sync_file(&self, file: &File) -> Done {
        (self.before)(Call::Sync)?;
        file.sync_all().map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
    }

    pub(super) fn sync_file_system(&self, dir: &Dir) -> Done {
        (self.before)(Call::Sync)?;
        dir.sync_file_system()
    }
}

/// Returns `true` if entries are synced one by one, and not with their whole file system.
pub(super) fn syncs_each(few: bool) -> bool {
    few || !SYNCS_FILE_SYSTEMS
}

/// Returns `true` if the file system does not support this kind of move.
fn is_refused(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}
