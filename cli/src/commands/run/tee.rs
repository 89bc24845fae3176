//! What a command prints goes through as it comes, and is recorded. Neither stream is waited for
//! alone.

use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::recorder::{Recorder, Stream};

/// So much is read at once.
const PIPE: usize = 64 << 10;

/// What is read at most, of each stream, once the command has ended: more is of what it left
/// running.
const LEFT: usize = 1 << 20;

/// What passes output through.
#[derive(Debug)]
pub struct Tee {
    sources: [Option<Source>; 2],
    /// Why it did not go to the end, where somebody should know.
    pub not_passed: Option<String>,
}

/// A stream of the command, and where it goes.
#[derive(Debug)]
struct Source {
    stream: Stream,
    from: PipeReader,
    to_stderr: bool,
    passes: bool,
}

/// What came of a read.
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

    /// Until the other end of `over` is dropped, and what is in the pipes then is read.
    pub fn run(&mut self, over: &PipeReader, recorder: &mut Recorder) {
        let mut buffer = vec![0; PIPE];
        loop {
            let mut fds = vec![PollFd::new(over, PollFlags::IN)];
            let open = self.sources.iter().flatten();
            fds.extend(open.map(|source| PollFd::new(&source.from, PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                // The command is told that nobody reads.
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

    /// Reads of one source what is there, so many times at most.
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
                        // Nobody reads it: the command is told, as it would be without us.
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

/// Writes all of it, also where whoever started us made it so that writing does not wait.
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
