//! Arguments of `log`, and of others that print events.

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use milepost::Body;

use super::moment::moment;
use super::number::whole;

#[derive(Debug, ClapArgs)]
pub struct Tui {
    /// The address of the point to begin at; see `milepost --help`. Default: the list of tasks.
    pub address: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Log {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// Print single events, not steps. Options that select events imply it.
    #[arg(long)]
    pub events: bool,
    /// Print at most N steps, or events. `-20` is `-n 20`.
    #[arg(short = 'n', long = "last", alias = "limit", value_name = "N",
          value_parser = whole::<u64>, allow_negative_numbers = true)]
    pub last: Option<u64>,
    /// Print times in UTC, not as ages.
    #[arg(long)]
    pub utc: bool,
    /// Print the oldest one first.
    #[arg(long)]
    pub reverse: bool,
    /// Print each event in full, not as one line.
    #[arg(long, conflicts_with = "graph")]
    pub full: bool,
    /// As --full, with the body as JSON.
    #[arg(long, conflicts_with = "graph")]
    pub raw: bool,
    /// Draw all lineages of the task side by side.
    #[arg(long, conflicts_with_all = ["reverse", "follow"])]
    pub graph: bool,
    /// Continue to print new events until Ctrl-C. The last 10 events are printed first, unless -n
    /// is given.
    #[arg(short, long, conflicts_with = "reverse")]
    pub follow: bool,
    #[command(flatten)]
    pub filter: LogFilter,
}

/// Filter of the printed events.
#[derive(Debug, Default, PartialEq, Eq, ClapArgs)]
pub struct LogFilter {
    /// Only events of this kind: `message`, `step_finished`. May be given more than once.
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true)]
    pub kind: Vec<String>,
    /// Only events of this step.
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub step: Option<u64>,
    /// Only events of this iteration, of all its steps and phases.
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub iteration: Option<u64>,
    /// Only events of this actor.
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
    /// Only events that contain this text, in upper or lower case. A text with quotes is also found
    /// as JSON with other white space: `"ok": false` finds `"ok":false`.
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Only events from this time on: 2026-01-18T10:30:00Z, 2026-01-18, or a span before now, as
    /// 2h.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<u64>,
    /// Only events until this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub until: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub struct Show {
    /// The address of the point; see `milepost --help`. Of a task or a lineage, its last event.
    pub address: String,
    /// Print the body as JSON.
    #[arg(long)]
    pub raw: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Transcript {
    /// The address of the end of the run; see `milepost --help`.
    pub address: String,
}

#[derive(Debug, ClapArgs)]
pub struct Search {
    /// The text, in upper or lower case. A text with quotes is also found as JSON with other white
    /// space: `"ok": false` finds `"ok":false`.
    pub text: String,
    /// Only tasks of this name; `*` matches any text.
    #[arg(long, value_name = "PATTERN")]
    pub task: Option<String>,
    /// Only tasks of this user.
    #[arg(long)]
    pub user: Option<String>,
    /// Only events of this kind. May be given more than once.
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true)]
    pub kind: Vec<String>,
    /// Stop after N hits. `-20` is `-n 20`.
    #[arg(short = 'n', long = "last", alias = "limit", value_name = "N",
          value_parser = whole::<u64>, allow_negative_numbers = true)]
    pub last: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub struct Compare {
    /// The addresses of the ends of the histories, see `milepost --help`; names of tasks in which
    /// `*` matches any text; or one task, for all its lineages.
    #[arg(required = true, value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// Print a line for each history: outcome, counts, and where it parts from the first.
    #[arg(long, conflicts_with = "all")]
    pub table: bool,
    /// Compare what was said also in turns with calls.
    #[arg(short, long)]
    pub texts: bool,
    /// Print all turns, not only those that differ.
    #[arg(long)]
    pub all: bool,
}

/// Returns a parser that accepts the names of all event kinds.
fn kinds() -> PossibleValuesParser {
    let names = (1..=u16::from(u8::MAX)).map(Body::name_of);
    PossibleValuesParser::new(names.filter(|name| *name != "unknown"))
}
