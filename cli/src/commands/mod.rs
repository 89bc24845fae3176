//! The commands, one file each, and functions that several of them share.
//!
//! A command is a line of the list below. Its file has its arguments, its help, its examples, its
//! needs and its function.

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
mod command;
mod compact;
mod compare;
mod config;
mod confirm;
mod conversion;
mod delete;
mod demo;
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
mod last;
mod left_files;
mod lineages;
mod log;
mod mark;
mod name_pattern;
mod needle;
mod on_store;
mod openapi;
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
mod root;
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
mod tui;
mod turn_text;
mod ui;
mod under_agent;
mod undo;
mod usage;
mod verify;
mod webhook;
mod workspace_args;

pub use self::agent::{call as answer_agent, is_call as is_call_of_agent};
use self::command::{CliCommand, Run};
use self::root::HelpGroup;
pub use self::root::{Args, command};
use crate::error::Result;
use crate::output::Out;
use crate::store_locator::StoreArgs;
use crate::terminal;

/// Makes the commands of a list: those of each group of the help, behind its title and its example,
/// and those that are hidden.
macro_rules! commands {
    (
        $($title:literal, $example:literal: $($name:ident($module:ident::$args:ident)),+;)+
        hidden: $($hidden:ident($place:ident::$own:ident)),+;
    ) => {
        /// A command and its arguments.
        #[derive(Debug, clap::Subcommand)]
        pub enum Command {
            $($($name($module::$args),)+)+
            $($hidden($place::$own),)+
        }

        const GROUPS: &[HelpGroup] = &[$(HelpGroup {
            title: $title,
            example: $example,
            commands: &[$((stringify!($name), $module::$args::EXAMPLES)),+],
        }),+];

        impl Command {
            fn run(&self, store: &StoreArgs, pages: bool, out: &mut Out) -> Result<()> {
                match self {
                    $($(Self::$name(args) => run_one(args, store, pages, out),)+)+
                    $(Self::$hidden(args) => run_one(args, store, pages, out),)+
                }
            }
        }
    };
}

// The help has them in this order.
commands! {
    "Record", "run --task site -- make":
        Demo(demo::DemoArgs),
        Init(init::InitArgs),
        Start(start::StartArgs),
        Record(record::RecordArgs),
        Import(import::ImportArgs),
        Run(run::RunArgs),
        Agent(agent::AgentArgs),
        Capture(capture::CaptureArgs),
        Mark(mark::MarkArgs);
    "Look", "log site":
        Tui(tui::TuiArgs),
        Tasks(tasks::TasksArgs),
        Log(log::LogArgs),
        Show(show::ShowArgs),
        Transcript(transcript::TranscriptArgs),
        Search(search::SearchArgs),
        State(state::StateArgs),
        States(states::StatesArgs),
        Checkpoints(checkpoints::CheckpointsArgs),
        Lineages(lineages::LineagesArgs),
        Files(files::FilesArgs),
        Cat(cat::CatArgs),
        Replay(replay::ReplayArgs),
        Stats(stats::StatsArgs);
    "Compare", "compare site/0 site/1":
        Compare(compare::CompareArgs),
        Diff(diff::DiffArgs),
        Blame(blame::BlameArgs),
        Bisect(bisect::BisectArgs);
    "Go back", "rollback site@before-sed":
        Checkpoint(checkpoint::CheckpointArgs),
        Restore(restore::RestoreArgs),
        Rollback(rollback::RollbackArgs),
        Rewind(rewind::RewindArgs),
        Undo(undo::UndoArgs),
        Redo(redo::RedoArgs),
        Branch(branch::BranchArgs),
        Switch(switch::SwitchArgs),
        Recover(recover::RecoverArgs);
    "Steer a run", "guide site shorter sentences":
        Pause(steer::PauseArgs),
        Resume(steer::ResumeArgs),
        Stop(steer::StopArgs),
        Guide(steer::GuideArgs),
        Edit(steer::EditArgs);
    "Keep", "export site -o site.jsonl":
        Export(export::ExportArgs),
        Share(share::ShareArgs),
        Verify(verify::VerifyArgs),
        Anchor(anchor::AnchorArgs),
        Doctor(doctor::DoctorArgs),
        Repair(repair::RepairArgs),
        Key(key::KeyArgs),
        Trust(trust::TrustArgs),
        Cleanup(cleanup::CleanupArgs),
        Pin(pin::PinArgs),
        Unpin(pin::UnpinArgs),
        Pins(pin::PinsArgs),
        Delete(delete::DeleteArgs),
        Erase(erase::EraseArgs),
        Compact(compact::CompactArgs);
    "Serve and set up", "serve --listen 127.0.0.1:7733":
        Serve(serve::ServeArgs),
        Ui(ui::UiArgs),
        Jobs(jobs::JobsArgs),
        Token(token::TokenArgs),
        Webhook(webhook::WebhookArgs),
        Config(config::ConfigArgs),
        Completions(shell::CompletionsArgs),
        Man(shell::ManArgs),
        Openapi(openapi::OpenapiArgs);
    hidden:
        DemoWorker(demo::DemoWorkerArgs);
}

/// Runs the command.
pub fn run(args: Args, out: &mut Out) -> Result<()> {
    let store = StoreArgs {
        dir: args.store,
        server: args.server,
        trust: args.trust,
        key_file: args.key_file,
        anchor_to: args.anchor_to,
        wait: args.wait,
    };
    store.name_in_messages();
    args.command.run(&store, !args.no_pager, out)
}

fn run_one<C: CliCommand>(
    command: &C,
    store: &StoreArgs,
    pages: bool,
    out: &mut Out,
) -> Result<()> {
    if let Run::OnStore(usual, _) = C::RUN
        && pages
        && command.needs(usual, false).pager
    {
        out.page()?;
    }
    if let Some(hint) = command.left_to_user() {
        under_agent::refuse(hint)?;
    }
    if !command.begin(store, out)? {
        return Ok(());
    }
    match C::RUN {
        Run::Alone(run) => run(store, command, out),
        Run::OnStore(usual, run) => {
            let needs = command.needs(usual, terminal::is_possible(out));
            on_store::run(store, needs, &|source, out| run(source, command, out), out)
        }
    }
}
