//! The commands, one file each, and functions that several of them share.

mod agent;
mod allocator;
mod anchor;
mod bisect;
mod blame;
mod branch;
mod capture;
mod captured_files;
mod cat;
mod checkpoint;
mod checkpoint_export;
mod checkpoints;
mod cleanup;
mod compact;
mod compare;
mod config;
mod confirm;
mod conversion;
mod delete;
mod diff;
mod doctor;
mod erase;
mod export;
mod file_diff;
mod files;
mod import;
mod init;
mod jobs;
mod key;
mod left_files;
mod lineages;
mod log;
mod mark;
mod name_pattern;
mod needs;
mod pin;
mod pointers;
mod record;
mod recover;
mod redo;
mod repair;
mod replay;
mod restore;
mod rewind;
mod rollback;
mod run;
mod search;
mod serve;
mod share;
mod shell;
mod show;
mod start;
mod state;
mod states;
mod stats;
mod steer;
mod switch;
mod tasks;
mod text_diff;
mod token;
mod transcript;
mod trust;
mod turn_text;
mod ui;
mod under_agent;
mod undo;
mod verify;
mod webhook;
mod workspace_args;

use milepost::events::{MarkStatus, RunControl};
use milepost::{Engine, Options};

pub use self::agent::{call as answer_agent, is_call as is_call_of_agent};
use self::needs::Needs;
use crate::args::{self, Args, Command, ConfigCommand, Status};
use crate::backend::{Attempt, Backend, Local, asking_again, hints};
use crate::error::{Failure, Result};
use crate::output::{Out, note};
use crate::store_locator::{Opened, StoreArgs, attach, in_other};
use crate::{demo, terminal, tui};

/// Runs the command.
pub fn run(args: Args, out: &mut Out) -> Result<()> {
    if !args.no_pager && Needs::of(&args.command, false).pager {
        out.page()?;
    }
    let store = StoreArgs {
        dir: args.store,
        server: args.server,
        trust: args.trust,
        key_file: args.key_file,
        anchor_to: args.anchor_to,
        wait: args.wait,
    };
    store.name_in_messages();
    under_agent::refuse(&args.command)?;
    if matches!(args.command, Command::Tui(_)) {
        tui::check(out)?;
    }
    match args.command {
        Command::Demo(args) => demo::run(&store, &args, out),
        Command::DemoWorker(args) => demo::worker(&store, &args),
        Command::Record(args) => or_elsewhere(&store, record::run(&store, &args, out)),
        Command::Import(args) => or_elsewhere(&store, import::run(&store, &args, out)),
        Command::Init(args) => init::run(&store, &args, out),
        Command::Key(args) => key::run(&args.file, out),
        Command::Run(args) => or_elsewhere(&store, run::run(&store, &args, out)),
        Command::Repair(args) => repair::run(&store, &args, out),
        Command::Trust(args) => trust::run(&store, &args, out),
        Command::Serve(args) => serve::run(store, &args, out),
        Command::Config(ConfigCommand::Check(args)) => config::check(&args, out),
        Command::Config(ConfigCommand::List) => config::list(out),
        Command::Agent(args) => agent::run(&args, out),
        Command::Rewind(args) => rewind::run(&store, &args, out),
        Command::Token(args) => token::run(&store, &args, out),
        Command::Completions(args) => shell::completions(&args, out),
        Command::Man(args) => shell::man(&args, out),
        Command::Webhook(args) => webhook::run(&args),
        Command::Doctor => doctor::run(&store, out),
        Command::Openapi => Ok(out.line(milepost_server::openapi()?)?),
        // In a fresh folder there is nothing to pick from.
        Command::Checkpoint(args::Checkpoint { task: None, .. })
        | Command::Restore(args::Restore { address: None, files: None, .. })
            if store.is_nowhere() =>
        {
            checkpoint::none(out)
        }
        command => {
            let lists = matches!(command, Command::Tasks(_) | Command::Ui(_) | Command::Tui(_));
            if let Some(other) = store.other_here().filter(|_| lists) {
                note(&in_other(&other));
            }
            let done = asking_again(|| on_found(&store, &command, out));
            done.map_err(|failure| store.or_in_other(failure))
        }
    }
}

/// Notes the store of this project's sessions of coding agents, if a command that recorded used
/// another one.
fn or_elsewhere(store: &StoreArgs, done: Result<()>) -> Result<()> {
    if let Some(other) = store.other_here() {
        note(&in_other(&other));
    }
    done
}

/// Runs a command on an existing store, opened by this process or by another one.
fn on_found(store: &StoreArgs, command: &Command, out: &mut Out) -> Result<Attempt<()>> {
    let needs = Needs::of(command, terminal::is_possible(out));
    let changes = !needs.only_reads && !matches!(command, Command::Log(_));
    let before = out.printed();
    let made = match command {
        Command::Start(args) => {
            start::check(args)?;
            store.to_make()?
        }
        _ => None,
    };
    let found = match made.is_some() || needs.creates && store.is_missing() {
        true => Opened::Local(store.open_or_create_with_hooks(Options::default())?),
        false => store.find(needs.hooks, needs.only_reads, needs.glances)?,
    };
    let engine = match found {
        Opened::Local(engine) => engine,
        Opened::Remote(_) if changes && store.is_in_its_hook() => {
            let text = "a hook cannot change the store that it is called for";
            return Err(Failure::new(text).hint("a hook may read it, and change other stores"));
        }
        Opened::Remote(there) if needs.store => {
            if let Command::Ui(args) = command {
                return ui::of_other(&there, args, out).map(|()| Attempt::Done(Ok(())));
            }
            let failure = Failure::new("this needs the store itself, and another program has it");
            match needs.only_reads.then(|| store.read_only(&there)).flatten() {
                Some(engine) => engine,
                None => return Err(failure.hint(there.instead())),
            }
        }
        Opened::Remote(there) => {
            let done = on_source(&there, command, out);
            // Partly printed output is not printed again; a question is asked again.
            return Ok(match changes || out.printed() == before {
                true => there.asked(done),
                false => Attempt::Done(done),
            });
        }
    };
    let attached = needs.attached || needs.hooks && store.has_hooks();
    let attached = attached.then(|| attach(&engine)).flatten();
    let done = match command {
        Command::Start(args) => start::run(&Local::new(&engine), args, made.as_deref(), out),
        command => on_store(store, &engine, command, out),
    };
    drop(attached);
    // The command is done or failed by now. A failed close only slows the next open.
    let closed = engine.close();
    done?;
    closed?;
    Ok(Attempt::Done(Ok(())))
}

fn on_store(store: &StoreArgs, engine: &Engine, command: &Command, out: &mut Out) -> Result<()> {
    match command {
        Command::Export(args) => {
            let task = args.task()?.map(|task| hints::task_id(engine, task)).transpose()?;
            export::run(engine, task, args, out)
        }
        Command::Bisect(args) => bisect::run(store, engine, args, out),
        Command::Ui(args) => ui::run(engine, args, out),
        Command::Diff(args) if args.files => file_diff::run(engine, args, out),
        command => on_source(&Local::new(engine), command, out),
    }
}

/// Runs a command that works on any backend.
fn on_source(source: &dyn Backend, command: &Command, out: &mut Out) -> Result<()> {
    match command {
        Command::Share(args) => share::run(source, args, out),
        Command::Tui(args) => tui::run(source, args.address.as_deref(), out),
        Command::Tasks(args) => tasks::run(source, args, out),
        Command::Lineages(args) => lineages::run(source, &args.task, out),
        Command::Log(args) => log::run(source, args, out),
        Command::Replay(args) => replay::run(source, args, out),
        Command::Transcript(args) => transcript::run(source, args, out),
        Command::Search(args) => search::run(source, args, out),
        Command::Compare(args) => compare::run(source, args, out),
        Command::Show(args) => show::run(source, args, out),
        Command::State(args) => state::run(source, args, out),
        Command::States(args) => states::run(source, args, out),
        Command::Checkpoint(args) => checkpoint::run(source, args, out),
        Command::Checkpoints(args) => checkpoints::run(source, args, out),
        Command::Mark(args) => mark::run(source, args, out),
        Command::Branch(args) => branch::run(source, args, out),
        Command::Switch(args) => switch::run(source, args, out),
        Command::Redo(args) => redo::run(source, &args.task, out),
        Command::Start(args) => start::run(source, args, None, out),
        Command::Restore(args) => restore::run(source, args, out),
        Command::Rollback(args) => rollback::run(source, args, out),
        Command::Recover(args) => recover::run(source, args, out),
        Command::Capture(args) => capture::run(source, args, out),
        Command::Compact(args) => compact::run(source, args, out),
        Command::Undo(args) => undo::run(source, args, out),
        Command::Diff(args) => diff::run(source, args, out),
        Command::Verify(args) => verify::run(source, args, out),
        Command::Anchor => anchor::run(source, out),
        Command::Blame(args) => blame::run(source, args, out),
        Command::Pin(args) => pin::pin(source, args, out),
        Command::Unpin(args) => pin::unpin(source, &args.address, out),
        Command::Pins(args) => pin::list(source, &args.task, out),
        Command::Erase(args) => erase::run(source, args, out),
        Command::Files(args) => files::run(source, args, out),
        Command::Cat(args) => cat::run(source, args, out),
        Command::Cleanup(args) => cleanup::run(source, args, out),
        Command::Delete(args) => delete::run(source, args, out),
        Command::Pause(args) => steer::control(source, args, RunControl::Paused, out),
        Command::Resume(args) => steer::control(source, args, RunControl::Running, out),
        Command::Stop(args) => steer::control(source, args, RunControl::Stopped, out),
        Command::Guide(args) => steer::guide(source, args, out),
        Command::Edit(args) => steer::edit(source, args, out),
        Command::Jobs(args) => jobs::run(source, args, out),
        Command::Stats(args) => stats::run(source, args, out),
        // `run`, `on_found` and `on_store` handle the others.
        Command::Demo(_)
        | Command::DemoWorker(_)
        | Command::Record(_)
        | Command::Import(_)
        | Command::Init(_)
        | Command::Key(_)
        | Command::Run(_)
        | Command::Repair(_)
        | Command::Trust(_)
        | Command::Serve(_)
        | Command::Ui(_)
        | Command::Config(_)
        | Command::Agent(_)
        | Command::Rewind(_)
        | Command::Token(_)
        | Command::Webhook(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Doctor
        | Command::Openapi
        | Command::Export(_)
        | Command::Bisect(_) => Err(Failure::bug("a command has no place to run".into())),
    }
}

/// Returns the engine, for an operation that needs the store itself.
fn needed<'a>(source: &'a dyn Backend, what: &str) -> Result<&'a Engine> {
    source.engine().ok_or_else(|| {
        Failure::new(format!("{what} needs the store itself, and another program has it open"))
            .hint("ask again when that program has ended")
    })
}

impl From<Status> for MarkStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Success => Self::Success,
            Status::Failure => Self::Failure,
        }
    }
}
