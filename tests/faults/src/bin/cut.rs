//! Cuts a file system off as a power cut does: `cut DIR FLAG`. Flag 1 stores its metadata before,
//! flag 2 nothing. For tests that made the file system themselves.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::ExitCode;

/// `FS_IOC_SHUTDOWN`, the same for ext4 and XFS.
const SHUTDOWN: libc::c_ulong = 0x8004_587d;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(dir), Some(flag)) = (args.next(), args.next()) else {
        eprintln!("cut DIR FLAG");
        return ExitCode::from(2);
    };
    let flag: u32 = flag.parse().unwrap_or(2);
    let dir = match File::open(&dir) {
        Ok(dir) => dir,
        Err(error) => {
            eprintln!("cannot open {dir}: {error}");
            return ExitCode::FAILURE;
        }
    };
    // SAFETY: the call reads one `u32` from the pointer, which is there until it returns.
    let done = unsafe { libc::ioctl(dir.as_raw_fd(), SHUTDOWN as _, &raw const flag) };
    if done == 0 {
        return ExitCode::SUCCESS;
    }
    eprintln!("cannot cut: {}", std::io::Error::last_os_error());
    ExitCode::FAILURE
}
