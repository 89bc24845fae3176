//! The commands, one file each, and what several of them need.

mod anchor;
mod bisect;
mod blame;
mod capture;
mod captured;
mod cat;
mod checkpoints;
mod cleanup;
mod compact;
mod config;
mod confirm;
mod delete;
mod diff;
mod erase;
mod file_diff;
mod files;
mod folder;
mod forms;
mod hunks;
mod interrupted;
mod key;
mod lineages;
mod log;
mod mark;
mod pin;
mod recover;
mod repair;
mod restore;
mod rollback;
mod run;
mod serve;
mod show;
mod state;
mod stats;
mod tasks;
mod token;
mod trust;
mod undo;
mod verify;

use milepost::{Address, Engine, ErrorKind, MarkStatus, Point, Task};

use crate::args::{Args, Command, ConfigCommand, Status};
use crate::error::{Failure, Result};
use crate::output::Out;
use crate::store::Choice;
use crate::{demo, import, record};
pub use forms::{encode, lineage as lineage_form};
pub use lineages::{describe, tree};

/// Does what was asked.
pub fn run(args: Args, out: &mut Out) -> Result<()> {
    let store = Choice {
        dir: args.store,
        trust: args.trust,
        key_file: args.key_file,
        anchor_to: args.anchor_to,
    };
    match args.command {
        Command::Demo(args) => demo::run(&store, &args, out),
        Command::DemoWorker(args) => demo::worker(&store, &args),
        Command::Record(args) => record::run(&store, &args, out),
        Command::Import(args) => import::run(&store, &args, out),
        Command::Key(args) => key::run(&args.file, out),
        Command::Run(args) => run::run(&store, &args, out),
        Command::Repair(args) => repair::run(&store, &args, out),
        Command::Trust(args) => trust::run(&store, &args, out),
        Command::Serve(args) => serve::run(store, &args, out),
        Command::Config(ConfigCommand::Check(args)) => config::check(&args, out),
        Command::Token(args) => token::run(&store, &args, out),
        Command::Openapi => Ok(out.line(milepost_server::openapi()?)?),
        command => {
            let writes = match &command {
                Command::Mark(_) | Command::Recover(_) | Command::Capture(_) => true,
                Command::Undo(args) => !args.how.dry_run,
                Command::Restore(args) => !args.back.how.dry_run,
                Command::Rollback(args) => !args.back.how.dry_run,
                _ => false,
            };
            let engine = match writes {
                true => store.open_with_hooks()?,
                false => store.open()?,
            };
            let done = on_store(&store, &engine, command, out);
            // What was asked is done or not by now; a failed close costs the next open time.
            let closed = engine.close();
            done?;
            Ok(closed?)
        }
    }
}

fn on_store(store: &Choice, engine: &Engine, command: Command, out: &mut Out) -> Result<()> {
    match command {
        Command::Demo(_)
        | Command::DemoWorker(_)
        | Command::Record(_)
        | Command::Import(_)
        | Command::Repair(_)
        | Command::Trust(_)
        | Command::Serve(_)
        | Command::Config(_)
        | Command::Token(_)
        | Command::Openapi
        | Command::Run(_)
        | Command::Key(_) => Ok(()),
        Command::Anchor => anchor::run(engine, out),
        Command::Tasks(args) => tasks::run(engine, &args, out),
        Command::Lineages(args) => lineages::run(engine, &args.task, out),
        Command::Log(args) => log::run(engine, &args, out),
        Command::Show(args) => show::run(engine, &args.address, out),
        Command::State(args) => state::run(engine, &args, out),
        Command::Blame(args) => blame::run(engine, &args, out),
        Command::Bisect(args) => bisect::run(store, engine, &args, out),
        Command::Checkpoints(args) => checkpoints::run(engine, &args, out),
        Command::Mark(args) => mark::run(engine, &args, out),
        Command::Restore(args) => restore::run(engine, &args, out),
        Command::Rollback(args) => rollback::run(engine, &args, out),
        Command::Undo(args) => undo::run(engine, &args, out),
        Command::Recover(args) => recover::run(engine, &args, out),
        Command::Diff(args) if args.files => file_diff::run(engine, &args, out),
        Command::Diff(args) => diff::run(engine, &args, out),
        Command::Capture(args) => capture::run(engine, &args, out),
        Command::Files(args) => files::run(engine, &args, out),
        Command::Cat(args) => cat::run(engine, &args, out),
        Command::Verify(args) => verify::run(engine, &args, out),
        Command::Cleanup(args) => cleanup::run(engine, &args, out),
        Command::Pin(args) => pin::pin(engine, &args, out),
        Command::Unpin(args) => pin::unpin(engine, &args.address, out),
        Command::Pins(args) => pin::list(engine, &args.task, out),
        Command::Delete(args) => delete::run(engine, &args, out),
        Command::Erase(args) => erase::run(engine, &args, out),
        Command::Compact(args) => compact::run(store, engine, &args, out),
        Command::Stats(args) => match &args.user {
            Some(user) => stats::of_user(engine, user, out),
            None => stats::run(engine, out),
        },
    }
}

/// The point of an address, or what to do where there is none.
fn point(engine: &Engine, address: &str) -> Result<Point> {
    engine.point(address).map_err(|error| {
        let kind = error.kind();
        let failure = Failure::from(error);
        match kind {
            ErrorKind::Invalid if address.starts_with('@') => {
                failure.hint("`milepost checkpoints --json` lists whole ids")
            }
            ErrorKind::Invalid => failure.hint(
                "addresses are TASK, TASK@N, TASK@LABEL, TASK~N, TASK/LINEAGE and @HEX; \
                 `milepost log TASK -n 5` shows the last events",
            ),
            ErrorKind::NotFound if address.starts_with('@') => {
                failure.hint("`milepost checkpoints` lists the checkpoints of the store")
            }
            _ => failure,
        }
    })
}

/// The task of this id, which may be percent-encoded as in an address.
fn task(engine: &Engine, id: &str) -> Result<Task> {
    match engine.task(id) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let decoded = id
                .parse::<Address>()
                .and_then(|address| engine.resolve(&address));
            match decoded {
                Ok(point) if id.contains('%') => Ok(engine.task(&point.task)?),
                _ => {
                    Err(Failure::from(error).hint("`milepost tasks` lists the tasks of the store"))
                }
            }
        }
        task => Ok(task?),
    }
}

impl From<Status> for MarkStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Success => Self::Success,
            Status::Failure => Self::Failure,
        }
    }
}
