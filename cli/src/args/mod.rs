//! Arguments of the command line.

mod agent;
mod conversion;
mod examples;
mod going_back;
mod groups;
mod line;
mod log;
mod moment;
mod number;
mod replay;
mod retention;
mod rewind;
mod run;
mod serve;
mod steer;
mod story;
mod upkeep;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use milepost::state::MessageRange;

use self::number::at_least_one;
use crate::demo::{Demo, DemoWorker};
use crate::output::When;
pub use agent::{AgentArgs, AgentChange, AgentCommand, AgentInstall, AgentServe};
pub use conversion::{Export, Import, Record, RunArgs, Share};
pub use examples::command;
pub use going_back::{
    Branch, Checkpoint, FolderOptions, GoingBack, Paths, Recover, Restore, Rollback, Switch, Undo,
};
pub use line::CommandLine;
pub use log::{Compare, Log, LogFilter, Search, Show, Transcript, Tui};
pub use replay::{Replay, Speed};
pub use retention::{Cleanup, Compact, Delete, Erase, Pin, Stats, Unpin};
pub use rewind::Rewind;
pub use run::{Run, RunWhen};
pub use serve::{
    ConfigCheck, ConfigCommand, Jobs, LogFormat, Serve, ServeFlags, Token, TokenCommand,
    TokenCreate, Ui,
};
pub use steer::{Control, Edit, Guide};
pub use story::{Bisect, Blame, ByHand, States};
pub use upkeep::{Key, Repair, Trust, Verify};
pub use workspace::{Capture, Cat, Diff, Files, ScanOptions};

const ADDRESSES: &str = "\
Addresses of a point:
  TASK            the head of the task's active lineage
  TASK@N          before event N (`show` prints event N)
  TASK@LABEL      a checkpoint by its label
  TASK@ok         the last successful checkpoint
  TASK~N          N checkpoints back
  TASK/LINEAGE    another lineage, with the same endings
  @HEX            a checkpoint by its id, or 8 or more digits of it
  @ALIAS          a checkpoint by the id that another system gave it
Inside a task's id, `@`, `~`, `/` and `%` are percent-encoded.

Exit codes: 0 done, 1 the request could not be met, 2 usage, 3 corrupt or diverged, 4 conflict,
70 a bug.";

/// Heading of the options that every command takes.
const EVERYWHERE: &str = "Everywhere";

/// Records the steps of agents, optimizers and training loops, and goes back to any of them.
#[derive(Debug, Parser)]
#[command(name = "milepost", version, after_long_help = ADDRESSES, max_term_width = 100)]
pub struct Args {
    /// The store. Default: MILEPOST_STORE, or the nearest `.milepost` folder upwards.
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Use a service instead of a local store: `http://127.0.0.1:7733`. Default: MILEPOST_SERVER.
    /// The token is read from MILEPOST_TOKEN.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "URL",
          conflicts_with = "store")]
    pub server: Option<String>,
    /// Print JSON: one document, or one object per line for `log`.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
    /// When to use colours.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "WHEN",
          default_value = "auto")]
    pub color: When,
    /// Print times in local time, not in UTC. TZ names another time zone.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE)]
    pub local: bool,
    /// Print without a pager. Otherwise output that is longer than the screen goes to
    /// MILEPOST_PAGER, PAGER or `less`.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE)]
    pub no_pager: bool,
    /// Open the store even if it belongs to another user.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE)]
    pub trust: bool,
    /// The key of a keyed store: a file with 64 hexadecimal digits. Default: MILEPOST_KEY_FILE, or
    /// the digits themselves in MILEPOST_KEY.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Keep an anchor up to date in this file, on another disk if possible. A store that is behind
    /// its anchor is not opened.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "FILE")]
    pub anchor_to: Option<PathBuf>,
    /// The longest wait for a store that another process has open: `500ms`, `5s`, `1m`. Default:
    /// 5s; `run` waits 30s to record its result.
    #[arg(long, global = true, hide_short_help = true, help_heading = EVERYWHERE,
          value_name = "DURATION",
          value_parser = duration)]
    pub wait: Option<Duration>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch an optimizer record itself, be killed, continue, and go back to do better.
    Demo(Demo),
    /// The child process of `demo`.
    #[command(hide = true)]
    DemoWorker(DemoWorker),
    /// Record runs of other programs. Formats: JSON Lines, Claude Code, OpenAI's messages,
    /// LangGraph, SWE-agent, tau-bench.
    Record(Record),
    /// Create a store for a project. `capture`, `run`, `mark`, `record` and `import` do it, too.
    Init(Init),
    /// Start a task, and create the store if there is none.
    Start(Start),
    /// Import files and folders: exports, JSON checkpoints, runs that `record` reads.
    /// The kind of input is detected.
    Import(Import),
    /// Export one task, or all tasks, as one file that another store imports.
    Export(Export),
    /// Write a task as one HTML file, without secrets. A browser shows and verifies it without
    /// Milepost, and `import` reads it; see docs/SHARE.md.
    Share(Share),
    /// Look at tasks, steps and states on the whole screen, and go back; see docs/PAGE.md.
    Tui(Tui),
    /// List the tasks, newest first.
    Tasks(Tasks),
    /// Draw the lineages of a task as a tree.
    Lineages(Task),
    /// Print the events before a point, newest first.
    Log(Log),
    /// Search the events of all tasks for a text.
    Search(Search),
    /// Compare two runs, turn by turn.
    Compare(Compare),
    /// Print events again, at their original pace or faster, or pass each to a command.
    Replay(Replay),
    /// Print the event at a point.
    Show(Show),
    /// Print a whole run as a document: what was said, called and returned.
    Transcript(Transcript),
    /// Print the state at a point.
    State(State),
    /// Print a part of the state at each checkpoint of a lineage, oldest first.
    States(States),
    /// Print the event that last set a part of the state.
    Blame(Blame),
    /// Find the first event after which a condition holds, by binary search.
    Bisect(Bisect),
    /// List checkpoints, newest first.
    Checkpoints(Checkpoints),
    /// Pick a checkpoint on the screen, and restore it. On a pipe, list the checkpoints by task.
    Checkpoint(Checkpoint),
    /// Mark a checkpoint at a point.
    Mark(Mark),
    /// Open a new lineage at a point, and leave the task on its active one.
    Branch(Branch),
    /// Switch a task to another of its lineages. Files stay as they are.
    Switch(Switch),
    /// Go back to a point: open a new lineage there, and make it the active one. With --files,
    /// restore only the files of a folder. Without an address, pick a checkpoint.
    Restore(Restore),
    /// Go back to a point with the folder: restore state and files together, or neither.
    Rollback(Rollback),
    /// Take a coding agent back to before a prompt: files and conversation. See docs/AGENTS.md.
    Rewind(Rewind),
    /// Undo the last restore of a task, and restore its folder if files were restored.
    Undo(Undo),
    /// Take the last undo of a task back. Files stay as they are.
    Redo(Task),
    /// Take back interrupted restores of folders.
    Recover(Recover),
    /// Compare the states or the files at two points.
    Diff(Diff),
    /// Capture a folder of files for a task.
    Capture(Capture),
    /// Run a command, and record its output and its changes to the folder. The exit status is
    /// recorded too, with a checkpoint before and after.
    Run(Run),
    /// List the files of the last capture before a point.
    Files(Files),
    /// Print the content of a captured file.
    Cat(Cat),
    /// Check every hash and both copies of every event.
    Verify(Verify),
    /// Report the condition of the store, with remedies.
    Doctor,
    /// Repair damage, and report losses.
    Repair(Repair),
    /// Print the heads of the store, to keep elsewhere for a later `verify --anchor`.
    Anchor,
    /// Create a key file for keyed stores.
    Key(Key),
    /// Trust a store from elsewhere: its folders, tokens and the commands in its hooks.json.
    Trust(Trust),
    /// Pause the run of a task at its next safe point.
    Pause(Control),
    /// Resume a paused run.
    Resume(Control),
    /// Stop the run of a task at its next safe point.
    Stop(Control),
    /// Send an instruction to the run of a task.
    Guide(Guide),
    /// Set artifacts of a task.
    Edit(Edit),
    /// Remove old checkpoints, and events that nothing needs.
    Cleanup(Cleanup),
    /// Protect a checkpoint, and the events it needs, from `cleanup`.
    Pin(Pin),
    /// Remove a pin.
    Unpin(Unpin),
    /// List the pinned checkpoints of a task.
    Pins(Task),
    /// List the captures, restores and other jobs of the program that has the store open.
    Jobs(Jobs),
    /// Delete a task, or all tasks of a user, for good.
    Delete(Delete),
    /// Erase the content of one event, for good.
    Erase(Erase),
    /// Remove erased, trimmed, dropped and deleted content from the disk.
    Compact(Compact),
    /// Print counts and sizes of the store, or of a user's tasks.
    Stats(Stats),
    /// Serve the store over HTTP until SIGTERM or Ctrl-C; see docs/HTTP.md.
    Serve(Serve),
    /// Open the store as a page in a browser, until Ctrl-C. If another program has the store open,
    /// the page shows and steers it there.
    Ui(Ui),
    /// Record the sessions of coding agents: hooks in their settings; see docs/AGENTS.md.
    Agent(AgentArgs),
    /// List your defaults and aliases, and check the configuration of `serve`.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Create, list and revoke the tokens that `serve` accepts.
    Token(Token),
    /// Post the document of a hook to another service. It is read from standard input; see
    /// docs/HOOKS.md.
    Webhook(Webhook),
    /// Print a script with which a shell completes commands, tasks and checkpoints. Bash reads it
    /// with `source <(milepost completions bash)`.
    Completions(Completions),
    /// Write pages for `man`.
    Man(Man),
    /// Print the OpenAPI 3.1 description of /v1 of `serve`, to generate clients from.
    Openapi,
}

#[derive(Debug, ClapArgs)]
pub struct Init {
    /// The project.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Create the store in your data folder, not in the project: it stays when the project is
    /// removed. Commands in the project find it by the path of the project.
    #[arg(long)]
    pub outside: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Start {
    /// The id of the new task.
    pub task: String,
    /// The owner. Default: you, by USER or USERNAME; with a service, the user of the token.
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// The state that the task begins with: a file with a JSON object.
    #[arg(long, value_name = "FILE.json")]
    pub initial: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct Webhook {
    /// The address: `https://..` or `http://..`.
    pub url: String,
    /// The file with the secret that signs the document.
    #[arg(long, value_name = "FILE")]
    pub secret_file: PathBuf,
    /// The longest wait for the answer: `500ms`, `10s`, `1m`.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "8s")]
    pub timeout: Duration,
}

#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// bash, elvish, fish, powershell or zsh.
    pub shell: String,
}

#[derive(Debug, ClapArgs)]
pub struct Man {
    /// The folder. It is created if it does not exist.
    pub dir: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct Task {
    /// The task's id.
    pub task: String,
}

/// Order of a list of tasks: most first, names from A to Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TaskOrder {
    Created,
    Changed,
    Name,
    Steps,
    Failed,
    Tokens,
    Cost,
}

#[derive(Debug, ClapArgs)]
pub struct Tasks {
    /// Only tasks of this name, in which `*` matches any text.
    pub pattern: Option<String>,
    /// Only tasks whose id begins with TEXT, by id. Unlike a pattern, reads no other task.
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<String>,
    /// Print times in UTC, not as ages.
    #[arg(long)]
    pub utc: bool,
    /// Only tasks with a lineage that failed.
    #[arg(long)]
    pub failed: bool,
    /// Order of the list. Default: the newest task first.
    #[arg(long, value_name = "ORDER")]
    pub sort: Option<TaskOrder>,
    /// Only tasks of this user.
    #[arg(long)]
    pub user: Option<String>,
    /// At most N tasks. `-20` is `-n 20`.
    #[arg(short = 'n', long, alias = "last", value_name = "N", value_parser = at_least_one,
          allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Continue an earlier list that `--limit` cut off.
    #[arg(long)]
    pub cursor: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct State {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// Messages of the conversation to print: `all`, `none`, or the last N. Default: the last 3, or
    /// all with --json.
    #[arg(long, value_name = "all|none|N", value_parser = message_range)]
    pub messages: Option<MessageRange>,
}

/// Returns `true` if the arguments have `--json`, also if they cannot be parsed. Arguments behind
/// `--` belong to another command.
pub fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// Parses a time span: a whole number and `ms`, `s`, `m`, `h` or `d`.
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
    // `parse` accepts a sign, too.
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = plain.then(|| digits.parse().ok())??;
    number.checked_mul(unit).map(Duration::from_millis)
}

/// Parses a whole number and a unit.
fn duration(text: &str) -> Result<Duration, String> {
    match span(text) {
        Some(duration) => Ok(duration),
        None => {
            Err("a duration is a whole number and ms, s, m or h, as in 500ms, 90s, 30m or 12h"
                .into())
        }
    }
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
    /// Only checkpoints of this task.
    pub task: Option<String>,
    /// At most N checkpoints. `-20` is `-n 20`.
    #[arg(short = 'n', long, alias = "last", value_name = "N", value_parser = at_least_one,
          allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Continue an earlier list that `--limit` cut off.
    #[arg(long)]
    pub cursor: Option<String>,
    /// Only checkpoints with this value under this key of their metadata. May be given more than
    /// once.
    #[arg(long = "where", value_name = "KEY=JSON")]
    pub filter: Vec<String>,
    /// Only checkpoints with this status.
    #[arg(long)]
    pub status: Option<Status>,
    /// Only checkpoints of the task with this alias, on any lineage.
    #[arg(long, requires = "task")]
    pub alias: Option<String>,
}

/// Status of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Status {
    Success,
    Failure,
}

#[derive(Debug, ClapArgs)]
#[command(allow_missing_positional = true)]
pub struct Mark {
    /// The address of the point; see `milepost --help`. Default: the head of the task named after
    /// this folder or the nearest one above it in the project; if there is none, a task for this
    /// folder is started.
    pub address: Option<String>,
    /// The label. It must not be all digits.
    pub label: String,
    /// An id that another system uses for the checkpoint: `@ALIAS` is its address. May be given
    /// more than once.
    #[arg(long)]
    pub alias: Vec<String>,
    /// The status of the work up to the point.
    #[arg(long, default_value = "success")]
    pub status: Status,
    /// Metadata for `checkpoints --where`, as a JSON object.
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
}
