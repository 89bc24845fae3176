//! Files of calls, and the selection of those that are observed.

use std::ffi::CStr;

use libc::c_int;

use crate::config::Config;
use crate::sys;

const PATH_MAX: usize = 4096;

/// The one file that never fails: a process under test writes its acknowledgements to it.
const ACKS: &[u8] = b"acks";

/// A file that is open.
pub(crate) struct Open {
    pub(crate) inode: u64,
    pub(crate) is_dir: bool,
    /// Its path, relative to the observed folder.
    pub(crate) path: Vec<u8>,
}

impl Open {
    pub(crate) fn spared(&self) -> bool {
        spared(&self.path)
    }
}

pub(crate) fn spared(path: &[u8]) -> bool {
    path == ACKS
}

/// Returns the file of a descriptor. The kernel is asked anew each time: so copies and closes of
/// descriptors need no tracking.
pub(crate) fn of_fd(config: &Config, fd: c_int) -> Option<Open> {
    let mut into = [0; PATH_MAX];
    let path = inside(config, path_of(fd, &mut into)?)?.to_vec();
    let stat = sys::stat(fd)?;
    let kind = stat.st_mode & libc::S_IFMT;
    (kind == libc::S_IFREG || kind == libc::S_IFDIR).then_some(Open {
        inode: stat.st_ino,
        is_dir: kind == libc::S_IFDIR,
        path,
    })
}

/// Returns a path relative to the observed folder, if it is inside.
pub(crate) fn of_path(config: &Config, dir: c_int, path: &CStr) -> Option<Vec<u8>> {
    let path = path.to_bytes();
    if path.starts_with(b"/") {
        return inside(config, path).map(<[u8]>::to_vec);
    }
    let mut into = [0; PATH_MAX];
    let base = if dir == libc::AT_FDCWD {
        sys::readlink(c"/proc/self/cwd", &mut into)?
    } else {
        path_of(dir, &mut into)?
    };
    let mut whole = base.to_vec();
    whole.push(b'/');
    whole.extend_from_slice(path);
    inside(config, &whole).map(<[u8]>::to_vec)
}

fn path_of(fd: c_int, into: &mut [u8]) -> Option<&[u8]> {
    // Without allocating: this is done for every read and write of the process.
    let mut name = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0";
    let mut number = u32::try_from(fd).ok()?;
    let mut digits = [0_u8; 10];
    let mut count = 0;
    loop {
        *digits.get_mut(count)? = b'0' + (number % 10) as u8;
        number /= 10;
        count += 1;
        if number == 0 {
            break;
        }
    }
    for (to, digit) in name.iter_mut().skip(14).zip(digits.iter().take(count).rev()) {
        *to = *digit;
    }
    sys::readlink(CStr::from_bytes_until_nul(&name).ok()?, into)
}

fn inside<'a>(config: &Config, path: &'a [u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(config.dir.as_slice())?;
    match rest.split_first() {
        None => Some(rest),
        Some((b'/', rest)) => Some(rest),
        Some(_) => None,
    }
}
