//! What can be asked on the command line.

mod carry;
mod examples;
mod going_back;
mod log;
mod moment;
mod replay;
mod retention;
mod run;
mod serve;
mod steer;
mod story;
mod workspace;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use milepost::MessageRange;

use crate::record::Format;
pub use carry::{Export, Import};
pub use examples::command;
pub use going_back::{Checkpoint, GoingBack, How, Paths, Recover, Restore, Rollback, Undo};
pub use log::{Filter, Log};
pub use replay::{Replay, Speed};
pub use retention::{Cleanup, Compact, Delete, Erase, Pin, Stats, Unpin};
pub use run::Run;
pub use serve::{
    ConfigCheck, ConfigCommand, LogFormat, Serve, ServeFlags, Token, TokenCommand, TokenCreate,
};
pub use steer::{Control, Edit, Guide};
pub use story::{Bisect, Blame, ByHand};
pub use workspace::{Capture, Cat, Diff, Files, Look};

const ADDRESSES: &str = "\
Addresses of a point:
  TASK            the head of the task's active lineage
  TASK@N          before event N (`show` prints event N)
  TASK@LABEL      a checkpoint by its label
  TASK~N          N checkpoints back
  TASK/LINEAGE    another lineage, with the same endings
  @HEX            a checkpoint by its id, or 8 or more digits of it
Inside a task's id, `@`, `~`, `/` and `%` are percent-encoded.

Exit codes: 0 done, 1 the request could not be met, 2 usage, 3 corrupt or diverged, 4 conflict,
70 a bug.";

/// The heading of options that every command takes.
const EVERYWHERE: &str = "Everywhere";

/// An event-sourced log for programs that work in iterations: record runs, look at any point of
/// them, go back to it.
#[derive(Debug, Parser)]
#[command(name = "milepost", version, after_long_help = ADDRESSES, max_term_width = 100)]
pub struct Args {
    /// The store. Default: MILEPOST_STORE, or the nearest `.milepost` folder upwards.
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Ask a service instead of opening a store here: `http://127.0.0.1:7733`. Default:
    /// MILEPOST_SERVER. Its token is read from MILEPOST_TOKEN.
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "URL", conflicts_with = "store")]
    pub server: Option<String>,
    /// Print JSON: one document, or for `log` one object a line.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
    /// When to use colours.
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "WHEN", default_value = "auto")]
    pub color: When,
    /// Print times as the clocks here show them, not in UTC. TZ names another place.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub local: bool,
    /// Print all at once, also where it is longer than the screen. Otherwise MILEPOST_PAGER or
    /// PAGER shows it, or `less`.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub no_pager: bool,
    /// Open the store even if it belongs to another user.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub trust: bool,
    /// The key of a keyed store: a file with 64 hexadecimal digits. Default: MILEPOST_KEY_FILE, or
    /// the digits themselves in MILEPOST_KEY.
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Keep an anchor up to date in this file, on another disk if it can be; a store that is behind
    /// it is not opened.
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE")]
    pub anchor_to: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch an optimizer record itself, be killed, go on, and go back to do better.
    Demo(Demo),
    /// The child process of `demo`.
    #[command(hide = true)]
    DemoWorker(DemoWorker),
    /// Record runs of other programs: JSON Lines, Claude Code, OpenAI's messages, LangGraph,
    /// SWE-agent, tau-bench.
    Record(Record),
    /// Import what `export` made, a folder of JSON checkpoint files, or what `record` reads: it
    /// looks at what it is given.
    Import(Import),
    /// Export a task, or all of them, as one file that another store imports.
    Export(Export),
    /// List the tasks, newest first.
    Tasks(Tasks),
    /// Draw the lineages of a task as a tree.
    Lineages(Task),
    /// Print the events before a point, newest first.
    Log(Log),
    /// Print events once more, at the pace they had or faster, or hand each to a command.
    Replay(Replay),
    /// Print the event at a point.
    Show(Address),
    /// Print the state at a point.
    State(State),
    /// Print which event last set a part of the state.
    Blame(Blame),
    /// Find the first event after which something is so, by halving the history.
    Bisect(Bisect),
    /// List checkpoints, newest first.
    Checkpoints(Checkpoints),
    /// Pick a checkpoint on the screen, and go back to it. On a pipe they are listed by task.
    #[command(visible_alias = "rewind")]
    Checkpoint(Checkpoint),
    /// Mark a checkpoint at a point.
    Mark(Mark),
    /// Go back to a point: a new lineage begins there, and the task goes on with it. With --files
    /// only the files of a folder go back. Without an address a checkpoint is picked.
    Restore(Restore),
    /// Go back to a point with the folder: state and files together, or none of them.
    Rollback(Rollback),
    /// Take back the last restore of a task, with its folder where files went back.
    Undo(Undo),
    /// Take back restores of folders that were cut short.
    Recover(Recover),
    /// Compare the states at two points, or the files.
    Diff(Diff),
    /// Capture a folder of files for a task.
    Capture(Capture),
    /// Run a command, and record what it printed, how it ended and what it did to the folder, with
    /// a checkpoint before and after.
    Run(Run),
    /// List the files that were captured last before a point.
    Files(Files),
    /// Print the content of a file that was captured.
    Cat(Cat),
    /// Check every hash and both copies of every event.
    Verify(Verify),
    /// Say how the store is, and what to do about it.
    Doctor,
    /// Mend what is damaged, and say what is lost.
    Repair(Repair),
    /// Print the heads of the store, to be kept somewhere else and verified against later.
    Anchor,
    /// Make a new key for keyed stores in a file.
    Key(Key),
    /// Trust a store that came from elsewhere: its folders, tokens and the commands in its
    /// hooks.json.
    Trust(Trust),
    /// Pause the run of a task, at its next safe point.
    Pause(Control),
    /// Have a paused run go on.
    Resume(Control),
    /// Stop the run of a task, at its next safe point.
    Stop(Control),
    /// Tell the run of a task what to do.
    Guide(Guide),
    /// Set artifacts of a task.
    Edit(Edit),
    /// Let go of old checkpoints, and of events that nothing needs.
    Cleanup(Cleanup),
    /// Keep a checkpoint, and what it needs, whatever `cleanup` is asked for.
    Pin(Pin),
    /// Take a pin back.
    Unpin(Unpin),
    /// List the pinned checkpoints of a task.
    Pins(Task),
    /// Delete a task, or all tasks of a user, for good.
    Delete(Delete),
    /// Erase what one event says, for good.
    Erase(Erase),
    /// Take off the disk what was let go of.
    Compact(Compact),
    /// Print counts and sizes of the store, or of a user's tasks.
    Stats(Stats),
    /// Answer over HTTP, until SIGTERM or Ctrl-C: see docs/HTTP.md.
    Serve(Serve),
    /// Look at what `serve` is configured by.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Make, list and revoke the tokens that `serve` lets in.
    Token(Token),
    /// Print what a shell reads to complete commands, tasks and checkpoints:
    /// `source <(milepost completions bash)`.
    Completions(Completions),
    /// Write pages for `man`.
    Man(Man),
    /// Print the description of what `serve` answers on /v1 (OpenAPI 3.1), to make clients from.
    Openapi,
}

#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// bash, elvish, fish, powershell or zsh.
    pub shell: String,
}

#[derive(Debug, ClapArgs)]
pub struct Man {
    /// The folder, which is made where it is not there.
    pub dir: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct Task {
    /// The task's id.
    pub task: String,
}

#[derive(Debug, ClapArgs)]
pub struct Address {
    /// The address of the point; see `milepost --help`.
    pub address: String,
}

#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// The seed of the optimizer: the same seed gives the same results.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, ClapArgs)]
pub struct DemoWorker {
    #[arg(long)]
    pub task: String,
    #[arg(long)]
    pub seed: u64,
    #[arg(long)]
    pub pause_at: u64,
    #[arg(long)]
    pub until: u64,
}

#[derive(Debug, ClapArgs)]
pub struct Record {
    /// The files, `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The task to record into. Default: the file's name without its ending, of a session its id.
    /// Where a file has several it is what the tasks' names begin with.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Whose the task is. Default: the current user.
    #[arg(long)]
    pub user: Option<String>,
    /// How the runs are written down.
    #[arg(long, default_value = "auto")]
    pub format: Format,
    /// Stop at the first line that cannot be read.
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON line an event with its offset and hash, once it is durable.
    #[arg(long)]
    pub ack: bool,
    /// The largest event, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub event_max: usize,
}

#[derive(Debug, ClapArgs)]
pub struct Tasks {
    /// Only those of this user.
    #[arg(long)]
    pub user: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Go on after an earlier list that `--limit` ended.
    #[arg(long)]
    pub cursor: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct State {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// How many messages of the conversation: `all`, `none`, or the last N. Default: the last 3,
    /// with --json all.
    #[arg(long, value_name = "all|none|N", value_parser = message_range)]
    pub messages: Option<MessageRange>,
}

/// A time span: a whole number and `ms`, `s`, `m`, `h` or `d`.
pub fn span(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.strip_prefix(digits)? {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 3600 * 1000,
        "d" => 86_400 * 1000,
        _ => return None,
    };
    // `parse` takes a sign, too.
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = plain.then(|| digits.parse().ok())??;
    number.checked_mul(unit).map(Duration::from_millis)
}

fn message_range(text: &str) -> Result<MessageRange, String> {
    match text {
        "all" => Ok(MessageRange::All),
        "none" => Ok(MessageRange::None),
        number => match number.parse() {
            Ok(number) => Ok(MessageRange::Last(number)),
            Err(_) => Err("neither `all` nor `none` nor a number".into()),
        },
    }
}

#[derive(Debug, ClapArgs)]
pub struct Checkpoints {
    /// Only those of this task.
    pub task: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Go on after an earlier list that `--limit` ended.
    #[arg(long)]
    pub cursor: Option<String>,
    /// Only those whose metadata has this value under this key. May be given more than once.
    #[arg(long = "where", value_name = "KEY=JSON")]
    pub filter: Vec<String>,
    /// Only those with this status.
    #[arg(long)]
    pub status: Option<Status>,
}

/// The status of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Status {
    Success,
    Failure,
}

#[derive(Debug, ClapArgs)]
pub struct Mark {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// The label. It is not all digits.
    pub label: String,
    /// Whether what led to it went well.
    #[arg(long, default_value = "success")]
    pub status: Status,
    /// A JSON object to filter lists by.
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Verify {
    /// Only this task.
    pub task: Option<String>,
    /// Fold every lineage from its beginning, too, and compare the snapshots.
    #[arg(long)]
    pub states: bool,
    /// Compare with an anchor that was taken earlier, too.
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    pub anchor: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct Repair {
    /// Change nothing: work on a copy, which needs as much room, and say what would be done.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Trust {
    /// Print what trust would mean, and trust nothing.
    #[arg(long)]
    pub show: bool,
    /// Take the trust back.
    #[arg(long, conflicts_with = "show")]
    pub revoke: bool,
    /// Do not ask.
    #[arg(long, conflicts_with_all = ["show", "revoke"])]
    pub yes: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Key {
    /// The file, which must not be there.
    pub file: PathBuf,
}
