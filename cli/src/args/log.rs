//! What can be asked of `log`.

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use milepost::Body;

use super::moment::moment;

#[derive(Debug, ClapArgs)]
pub struct Log {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// At most N events.
    #[arg(short = 'n', long = "last", value_name = "N")]
    pub last: Option<u64>,
    /// Oldest first.
    #[arg(long)]
    pub reverse: bool,
    /// All of each event, not one line.
    #[arg(long, conflicts_with = "graph")]
    pub full: bool,
    /// All lineages of the task, drawn beside each other.
    #[arg(long, conflicts_with_all = ["reverse", "follow"])]
    pub graph: bool,
    /// Go on printing events as they come, until Ctrl-C. What is there is printed from the 10th
    /// last on, unless -n says otherwise.
    #[arg(short, long, conflicts_with = "reverse")]
    pub follow: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Which events are printed.
#[derive(Debug, Default, ClapArgs)]
pub struct Filter {
    /// Only events of this kind: `message`, `step_finished`. May be given more than once.
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true)]
    pub kind: Vec<String>,
    /// Only events of this step.
    #[arg(long, value_name = "N")]
    pub step: Option<u64>,
    /// Only events that this actor made.
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
    /// Only events that have this text, in whatever case.
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Only events from then on: a time, as 2026-01-18T10:30:00Z or 2026-01-18, or how long ago, as
    /// 2h.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<u64>,
    /// Only events until then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub until: Option<u64>,
}

/// The kinds that there are.
fn kinds() -> PossibleValuesParser {
    let names = (1..=u16::from(u8::MAX)).map(Body::name_of);
    PossibleValuesParser::new(names.filter(|name| *name != "unknown"))
}
