//! Selection of the calls that fail, and their failures.
//!
//! `class:n:how:once` makes the `n`-th call of a class fail, counted from 1, and `forever` all that
//! follow too. How: the name of an error; `short`, which writes or reads half; `torn`, which writes
//! half and then has no space; `kill`, which ends the process before the call.

use std::sync::atomic::Ordering;

use libc::c_int;

use crate::config::Config;
use crate::sys;

/// Classes of calls, in the order of their counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Write,
    Sync,
    Open,
    Rename,
    Unlink,
    Mkdir,
    Truncate,
    Read,
    /// `sync_file_range`, which begins to store contents and is no sync.
    Range,
    /// Links, hard and symbolic.
    Link,
    /// The bits of a file.
    Mode,
    /// Any of the others but reads.
    Any,
    /// No call: how often one was made to fail.
    Failed,
}

/// Number of classes.
pub(crate) const CLASSES: usize = 13;

const NAMES: [(&str, Class); 12] = [
    ("write", Class::Write),
    ("sync", Class::Sync),
    ("open", Class::Open),
    ("rename", Class::Rename),
    ("unlink", Class::Unlink),
    ("mkdir", Class::Mkdir),
    ("truncate", Class::Truncate),
    ("read", Class::Read),
    ("range", Class::Range),
    ("link", Class::Link),
    ("mode", Class::Mode),
    ("any", Class::Any),
];

const ERRORS: [(&str, c_int); 8] = [
    ("EIO", libc::EIO),
    ("ENOSPC", libc::ENOSPC),
    ("EDQUOT", libc::EDQUOT),
    ("EMFILE", libc::EMFILE),
    ("EINTR", libc::EINTR),
    ("EROFS", libc::EROFS),
    ("EFBIG", libc::EFBIG),
    ("EACCES", libc::EACCES),
];

#[derive(Clone, Copy)]
enum How {
    Error(c_int),
    Short,
    Torn,
    Kill,
}

/// Calls that are to fail.
#[derive(Clone, Copy)]
pub(crate) struct Fail {
    class: Class,
    n: u64,
    how: How,
    forever: bool,
}

impl Fail {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let class = parts.next()?;
        let class = NAMES.iter().find(|(name, _)| *name == class)?.1;
        let n = parts.next()?.parse().ok()?;
        let how = match parts.next()? {
            "short" => How::Short,
            "torn" => How::Torn,
            "kill" => How::Kill,
            error => How::Error(ERRORS.iter().find(|(name, _)| *name == error)?.1),
        };
        let forever = parts.next()? == "forever";
        Some(Self { class, n, how, forever })
    }
}

/// Decision about a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Go,
    /// Half of the bytes.
    Half,
    Error(c_int),
}

/// Counts a call and says what becomes of it. The caller holds the lock on all of them.
pub(crate) fn decide(config: &Config, class: Class) -> Verdict {
    let count = |class: Class| {
        let counter = config.counts.get(class as usize);
        counter.map_or(0, |counter| counter.fetch_add(1, Ordering::SeqCst) + 1)
    };
    let number = count(class);
    let any = match class {
        Class::Read => 0,
        _ => count(Class::Any),
    };
    let Some(fail) = &config.fail else {
        return Verdict::Go;
    };
    let number = match fail.class {
        Class::Any => any,
        wanted if wanted == class => number,
        _ => return Verdict::Go,
    };
    let (here, after) = (number == fail.n, number > fail.n);
    let verdict = match fail.how {
        How::Kill if here => sys::die(),
        How::Error(errno) if here || after && fail.forever => Verdict::Error(errno),
        How::Short if here || after && fail.forever => Verdict::Half,
        How::Torn if here => Verdict::Half,
        How::Torn if number == fail.n + 1 || after && fail.forever => Verdict::Error(libc::ENOSPC),
        _ => Verdict::Go,
    };
    if verdict != Verdict::Go {
        count(Class::Failed);
    }
    verdict
}
