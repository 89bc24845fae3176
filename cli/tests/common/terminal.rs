//! A terminal that the command runs on: keys are pressed, and its screen is compared.

use std::io::{Read, Write};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use milepost::clock::{Clock as _, SystemClock};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::common::Place;

/// Time limit for expected output; after it the command counts as hung.
const HANGS: Duration = Duration::from_secs(60);

pub const UP: &str = "\x1b[A";
pub const DOWN: &str = "\x1b[B";
pub const END: &str = "\x1b[F";
pub const HOME: &str = "\x1b[H";
pub const PAGE_DOWN: &str = "\x1b[6~";
pub const TAB: &str = "\t";
pub const ENTER: &str = "\r";
pub const ESC: &str = "\x1b";
pub const CTRL_C: &str = "\x03";
pub const CTRL_N: &str = "\x0e";
pub const CTRL_P: &str = "\x10";
pub const CTRL_U: &str = "\x15";

pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    /// The command's output; it ends with the command.
    written: Receiver<Vec<u8>>,
    parser: vt100::Parser,
}

/// End of a command.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub code: u32,
    /// The screen's content before the command.
    pub text: String,
}

impl Terminal {
    /// Runs the command on a terminal of this size.
    pub fn of(place: &Place, line: &str, size: (u16, u16)) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_milepost"));
        command.args(line.split(' '));
        command.cwd(place.dir.path());
        let agents = ["CLAUDECODE", "CODEX_SESSION_ID", "GEMINI_CLI"];
        for name in ["MILEPOST_STORE", "MILEPOST_SERVER", "NO_COLOR"].iter().chain(&agents) {
            command.env_remove(name);
        }
        command.env("TERM", "xterm-256color");
        command.env("XDG_CONFIG_HOME", place.path("config"));
        command.env("XDG_DATA_HOME", place.path("data"));
        Self::start(command, size)
    }

    /// Starts a command on a terminal of this size.
    pub fn start(command: CommandBuilder, (width, height): (u16, u16)) -> Self {
        let pair = native_pty_system().openpty(size(width, height)).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, written) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // After the end of the command, reading fails.
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            writer: Some(pair.master.take_writer().unwrap()),
            master: Some(pair.master),
            written,
            parser: vt100::Parser::new(cells(height), cells(width), 0),
        }
    }

    /// Returns the screen's content.
    pub fn text(&self) -> String {
        self.parser.screen().contents()
    }

    pub fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    pub fn press(&mut self, keys: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    pub fn resize(&mut self, width: u16, height: u16) {
        let master = self.master.as_ref().unwrap();
        master.resize(size(width, height)).unwrap();
        let screen = self.parser.screen_mut();
        screen.set_size(cells(height), cells(width));
    }

    /// Reads until the screen is as it should be.
    #[track_caller]
    pub fn wait(&mut self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let deadline = deadline();
        loop {
            let text = self.text();
            if is(&text) {
                return text;
            }
            match self.written.recv_timeout(left(deadline)) {
                Ok(bytes) => self.parser.process(&bytes),
                Err(error) => panic!("{what}: {error}; the screen is\n{text}"),
            }
        }
    }

    /// Reads until the screen contains this text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Reads until the chosen row begins with this.
    #[track_caller]
    pub fn wait_chosen(&mut self, row: &str) -> String {
        let begin = format!("> {row}");
        self.wait(row, |screen| screen.lines().skip(1).any(|line| line.starts_with(&begin)))
    }

    /// Reads until the command has ended.
    #[track_caller]
    pub fn ended(mut self) -> Ended {
        let deadline = deadline();
        loop {
            match self.written.recv_timeout(left(deadline)) {
                Ok(bytes) => self.parser.process(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(error) => panic!("not ended: {error}; the screen is\n{}", self.text()),
            }
        }
        let code = self.child.wait().unwrap().exit_code();
        assert!(!self.screen().alternate_screen(), "the terminal was not given back");
        assert!(!self.screen().hide_cursor() && !self.screen().bracketed_paste());
        let modes = self.master.as_ref().and_then(|master| master.get_termios());
        let modes = format!("{:?}", modes.unwrap().local_flags);
        assert!(modes.contains("ICANON") && modes.contains("ECHO"), "{modes}");
        let text = self.text().trim_end().to_owned();
        Ended { code, text }
    }

    /// Sends the command a signal.
    pub fn signal(&self, name: &str) {
        let pid = self.child.process_id().unwrap().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }
}

fn deadline() -> u64 {
    SystemClock.now_us() + HANGS.as_micros() as u64
}

fn left(deadline: u64) -> Duration {
    Duration::from_micros(deadline.saturating_sub(SystemClock.now_us()))
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn cells(count: u16) -> std::num::NonZeroU16 {
    count.try_into().unwrap()
}
