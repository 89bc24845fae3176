//! A user presses Esc on the agent's screen while a command runs: a rewind undoes its changes.

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::sync::{Arc, Mutex};

use milepost_agent_tests::Agent;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::Parser;

use crate::ends::{all_goes_back, recorded};
use crate::session;

/// Lines and columns.
const SIZE: [u16; 2] = [40, 120];

/// A program on a terminal. Dropping it ends the program.
struct Screen {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    parser: Arc<Mutex<Parser>>,
}

impl Screen {
    fn start(command: &Command) -> Self {
        let [rows, cols] = SIZE;
        let size = PtySize { rows, cols, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.cwd(command.get_current_dir().unwrap());
        builder.env_clear();
        for (name, value) in command.get_envs() {
            builder.env(name, value.unwrap());
        }
        let child = pair.slave.spawn_command(builder).unwrap();
        let [rows, cols] = SIZE.map(|cells| cells.try_into().unwrap());
        let parser = Arc::new(Mutex::new(Parser::new(rows, cols, 0)));
        let (mut reader, shown) = (pair.master.try_clone_reader().unwrap(), Arc::clone(&parser));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                shown.lock().unwrap().process(&buffer[..read]);
            }
        });
        Self { child, master: pair.master, parser }
    }

    fn text(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The agent's screen stays open: another process runs the rewind.
fn a_command_that_the_user_ends_goes_back(agent: Agent) {
    let Some((home, files)) = recorded(agent) else { return };
    let call = "[[shell echo 2 > data.txt; rm mine.txt; echo n > new.txt; sleep 600]]";
    let command = home.screen_command(&format!("{call} [[say never]]")).unwrap();
    let screen = Screen::start(&command);
    let runs = || !home.running(&["sleep", "600"]).is_empty();
    assert!(home.until(|| home.text("new.txt").is_some() && runs()), "{}", screen.text());
    let mut keys = screen.master.take_writer().unwrap();
    let mut press = |key: &str| {
        keys.write_all(key.as_bytes()).unwrap();
        keys.flush().unwrap();
    };
    press("\x1b");
    // Esc does not end a command that Codex has moved to the background; `/stop` does.
    let goes_on = || ["interrupted", "/stop to close"].iter().all(|it| screen.text().contains(it));
    assert!(home.until(|| !runs() || goes_on()), "{}", screen.text());
    if runs() {
        press("/stop");
        assert!(home.until(|| screen.text().contains("stop all")), "{}", screen.text());
        press("\r");
    }
    assert!(home.until(|| !runs()), "{}", screen.text());
    all_goes_back(&home, &format!("{}~1", session(&home)), &files);
}

#[test]
fn a_command_of_claude_code_that_the_user_ends_goes_back() {
    a_command_that_the_user_ends_goes_back(Agent::ClaudeCode);
}

#[test]
fn a_command_of_codex_that_the_user_ends_goes_back() {
    a_command_that_the_user_ends_goes_back(Agent::Codex);
}

#[test]
fn a_command_of_gemini_cli_that_the_user_ends_goes_back() {
    a_command_that_the_user_ends_goes_back(Agent::GeminiCli);
}
