//! `bisect`: search for the first event after which a condition holds.

mod by_hand;
mod command;
mod report;
mod scratch;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ArgGroup;
use milepost::query::{Bisect, Condition};
use milepost::state::{Chunks, MessageRange};
use milepost::{Engine, ErrorKind, Point, RunState};

use super::command::{CliCommand, Examples, Needs, Run};
use super::on_store::needed;
use super::pointers;
use crate::backend::Backend;
use crate::backend::hints::point;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, excerpt};
use scratch::Scratch;

const RUNS: &str = "\
A state is good where it is not so yet, and bad where it is. What turned bad is taken to stay bad.

The command of --run gets the state as JSON on its standard input and says by its exit code what it
is, as with `git bisect run`: 0 good, 1 to 124, 126 and 127 bad, 125 cannot be said: a neighbour is
looked at, 64 times at most. Other codes, and a signal that ends it, end the search. What it prints
goes to standard error.
docs/COMMAND_LINE.md has the grammar of --when.";

/// Find the first event after which a condition holds, by binary search.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = RUNS,
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    group = ArgGroup::new("asked").required(true).args(["when", "run"])
)]
pub struct BisectArgs {
    /// The address of a point where the condition holds.
    #[arg(required = true)]
    pub address: Option<String>,
    /// The condition on the state, as `/variables/score < 0.5`.
    #[arg(long, value_name = "EXPR")]
    pub when: Option<String>,
    /// Test the condition with the command behind `--`.
    #[arg(long, requires = "command")]
    pub run: bool,
    /// Run the command in a scratch folder with the files of this folder, as they were captured
    /// last before each point.
    #[arg(long, value_name = "DIR", requires = "run", conflicts_with = "when")]
    pub files: Option<PathBuf>,
    /// The address of an earlier point where the condition does not hold. Default: the beginning,
    /// or the first capture of the folder of --files.
    #[arg(long, value_name = "ADDRESS")]
    pub good: Option<String>,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND", requires = "run")]
    pub command: Vec<OsString>,
    #[command(subcommand)]
    pub by_hand: Option<ByHand>,
}

impl CliCommand for BisectArgs {
    const EXAMPLES: Examples = &[
        ("bisect run --when '/variables/score < 0.5'", "the event after which the score is below"),
        (
            "bisect run --run -- ./is-bad",
            "by a command that gets the state, and says by its exit code",
        ),
        ("bisect run --files . --run -- make test", "which step broke the tests"),
        ("bisect start run run@good", "step by step: then `good` and `bad`"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs { store: true, attached: true, ..Needs::READS }, run);

    fn needs(&self, usual: Needs, _can_pick: bool) -> Needs {
        Needs { only_reads: self.by_hand.is_none(), ..usual }
    }
}

/// One step of a search by hand.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum ByHand {
    /// Begin a search by hand between a bad point, where the condition holds, and an earlier good
    /// one.
    Start {
        /// The address of a point where the condition holds.
        bad: String,
        /// The address of an earlier point where it does not hold.
        good: String,
    },
    /// Answer that the condition does not hold at the point named last.
    Good,
    /// Answer that the condition holds at the point named last.
    Bad,
    /// Skip a point that cannot be judged: a neighbour is tested instead.
    Skip,
    /// End the search, and discard it.
    Reset,
}

fn run(source: &dyn Backend, args: &BisectArgs, out: &mut Out) -> Result<()> {
    let engine = needed(source, "`bisect`")?;
    if let Some(step) = &args.by_hand {
        return by_hand::run(engine, step, out);
    }
    let address = args.address.as_deref().unwrap_or_default();
    let bad = point(engine, address)?;
    let good = args.good.as_ref().map(|good| point(engine, good));
    let mut bisect = begin(engine, good.transpose()?.as_ref(), &bad)?;
    let files = match &args.files {
        Some(folder) => Some(Scratch::new(engine, &bad, folder)?),
        None => None,
    };
    if let (None, Some(files)) = (&args.good, &files) {
        let first = point(engine, &report::address(&bad, files.first()))?;
        bisect = begin(engine, Some(&first), &bad)?;
    }
    match &args.when {
        Some(text) => search_when(engine, &mut bisect, &bad, text),
        None => search_run(engine, &mut bisect, &args.command, files),
    }?;
    report::print(engine, &bisect, Some(bisect.looked()), out)
}

/// Begins a search between two points. A failure has a hint.
fn begin(engine: &Engine, good: Option<&Point>, bad: &Point) -> Result<Bisect> {
    engine.query().bisect(good, bad).map_err(|error| {
        Failure::from(error).hint(
            "the bad point is the one that the search begins at, --good ADDRESS one before it; \
             `milepost lineages TASK` shows which history has which",
        )
    })
}

fn search_when(engine: &Engine, bisect: &mut Bisect, bad: &Point, text: &str) -> Result<()> {
    let condition = text.parse::<Condition>().map_err(|error| {
        Failure::new(format!("--when, {}", error))
            .code_of(USAGE)
            .hint("as in --when '/variables/score < 0.5 and not exists /last_error/message'")
    })?;
    let chunks = engine.chunks();
    let state = engine.run_state(bad)?;
    let holds = condition.holds(&state, chunks.as_ref())?;
    match bisect.run_or_scan(engine, |state| condition.holds(state, chunks.as_ref())) {
        Err(error) if error.kind() == ErrorKind::Invalid && !holds => {
            Err(not_so(&error, &condition, bad, &state, chunks.as_ref())?)
        }
        done => done.map_err(|error| of_ends(error.into(), bisect)),
    }
}

/// Returns the failure of a condition that holds nowhere, with the values at the end.
fn not_so(
    error: &milepost::Error,
    condition: &Condition,
    bad: &Point,
    state: &RunState,
    chunks: &dyn Chunks,
) -> Result<Failure> {
    let mut values = Vec::new();
    let mut question = None;
    let json = state.to_json(chunks, MessageRange::None)?;
    for pointer in condition.pointers() {
        match state.value_at(pointer, chunks)? {
            Some(value) => values.push(format!("{pointer} is {}", excerpt(&value.to_string(), 80))),
            None => {
                values.push(format!("{pointer} is not there"));
                question = question.or_else(|| pointers::suggestion(&json, pointer));
            }
        }
    }
    let message = format!("{error}; at {bad} {}", values.join(", "));
    let address = report::address(bad, bad.offset);
    let all = format!("`milepost state {address}` prints the state there");
    let hint = match question {
        Some(question) => format!("{question} {all}"),
        None => all,
    };
    Ok(Failure::new(message).of_kind(ErrorKind::Invalid).hint(hint))
}

fn search_run(
    engine: &Engine,
    bisect: &mut Bisect,
    command: &[OsString],
    mut files: Option<Scratch>,
) -> Result<()> {
    let chunks = engine.chunks();
    bisect
        .run(engine, |point, state| {
            let state = state.to_json(chunks.as_ref(), MessageRange::All)?;
            match &mut files {
                Some(files) => files.ask(engine, command, point, &state),
                None => command::ask(command, point, &state, None),
            }
        })
        .map_err(|failure| of_ends(failure, bisect))
}

/// Adds a hint at the two ends of a search to the failure that one of them is wrong.
fn of_ends(failure: Failure, bisect: &Bisect) -> Failure {
    let [good, bad] = [bisect.good(), bisect.bad()].map(|end| report::address(&end, end.offset));
    match failure.kind() {
        Some(ErrorKind::Invalid) => failure.hint(format!(
            "`milepost state {good}` and `milepost state {bad}` print the two ends; another good \
             end is named with --good"
        )),
        _ => failure,
    }
}
