//! Output of a command, passed through as it comes and recorded. Both streams are read at once.

use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::recorder::{Recorder, Stream};

/// Size of one read, in bytes.
const PIPE: usize = 64 << 10;

/// Most bytes that are read of each stream after the end of the command. More comes from processes
/// that it left running.
const LEFT: usize = 1 << 20;

/// Reader that passes output through.
#[derive(Debug)]
pub struct Tee {
    sources: [Option<Source>; 2],
    /// Reason why output was not passed through completely, if the user should know.
    pub not_passed: Option<String>,
}

/// A stream of the command, and its destination.
#[derive(Debug)]
struct Source {
    stream: Stream,
    from: PipeReader,
    to_stderr: bool,
    passes: bool,
}

/// Result of a read.
enum Got {
    Some(usize),
    Later,
    End,
}

impl Tee {
    pub fn of(child: &mut Child, to_stderr: bool) -> io::Result<Self> {
        let out = child.stdout.take().map(|out| (Stream::Out, out.into()));
        let err = child.stderr.take().map(|err| (Stream::Err, err.into()));
        let source = |given: Option<(Stream, OwnedFd)>| {
            let source = given.map(|(stream, fd)| {
                rustix::io::ioctl_fionbio(&fd, true)?;
                io::Result::Ok(Source {
                    stream,
                    from: fd.into(),
                    to_stderr: to_stderr || stream == Stream::Err,
                    passes: true,
                })
            });
            source.transpose()
        };
        Ok(Self { sources: [source(out)?, source(err)?], not_passed: None })
    }

    /// Passes output through until the other end of `over` is dropped, and then the rest of the
    /// pipes.
    pub fn run(&mut self, over: &PipeReader, recorder: &mut Recorder) {
        let mut buffer = vec![0; PIPE];
        loop {
            let mut fds = vec![PollFd::new(over, PollFlags::IN)];
            let open = self.sources.iter().flatten();
            fds.extend(open.map(|source| PollFd::new(&source.from, PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                // Closed pipes tell the command that it has no reader.
                Err(error) => {
                    self.sources = [None, None];
                    self.not_passed = Some(format!("cannot wait for output: {error}"));
                    return;
                }
            }
            let is_over = fds.first().is_some_and(|fd| !fd.revents().is_empty());
            drop(fds);
            let reads = match is_over {
                true => LEFT / PIPE,
                false => 1,
            };
            for at in 0..self.sources.len() {
                self.read(at, reads, &mut buffer, recorder);
            }
            if is_over {
                return;
            }
        }
    }

    /// Reads available output of one source, at most `times` times.
    fn read(&mut self, at: usize, times: usize, buffer: &mut [u8], recorder: &mut Recorder) {
        let Some(place) = self.sources.get_mut(at) else {
            return;
        };
        for _ in 0..times {
            let Some(source) = place else {
                return;
            };
            match source.got(buffer) {
                Got::Later => return,
                Got::End => *place = None,
                Got::Some(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    recorder.push(source.stream, bytes);
                    match source.pass(bytes) {
                        Ok(()) => {}
                        // The reader is gone. The command is told, as it would be without milepost.
                        Err(Errno::PIPE) => *place = None,
                        Err(error) => {
                            source.passes = false;
                            let name = match source.to_stderr {
                                true => "standard error",
                                false => "standard output",
                            };
                            self.not_passed = Some(format!("cannot write to {name}: {error}"));
                        }
                    }
                }
            }
        }
    }
}

impl Source {
    fn got(&mut self, buffer: &mut [u8]) -> Got {
        loop {
            match self.from.read(buffer) {
                Ok(0) => return Got::End,
                Ok(count) => return Got::Some(count),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Got::Later,
                Err(_) => return Got::End,
            }
        }
    }

    fn pass(&self, bytes: &[u8]) -> Result<(), Errno> {
        if !self.passes {
            return Ok(());
        }
        match self.to_stderr {
            true => write_all(io::stderr(), bytes),
            false => write_all(io::stdout(), bytes),
        }
    }
}

/// Writes all bytes, even to a descriptor that does not block.
fn write_all(to: impl AsFd, bytes: &[u8]) -> Result<(), Errno> {
    let mut left = bytes;
    while !left.is_empty() {
        match rustix::io::write(&to, left) {
            Ok(count) => left = left.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => match poll(&mut [PollFd::new(&to, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
