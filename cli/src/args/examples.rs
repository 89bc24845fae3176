//! Examples of each command, for its help and its man page.

use clap::{Command, CommandFactory as _};

use super::Args;
use super::groups::grouped;

/// Number of examples of a command in its short help.
const SHORT: usize = 3;

/// Builds the command line with its examples.
pub fn command() -> Command {
    let mut command = grouped(Args::command());
    for (name, examples) in EXAMPLES {
        let text = text(examples);
        let short = self::text(examples.get(..SHORT).unwrap_or(examples));
        command = command.mut_subcommand(name, |one| {
            let own = one.get_after_long_help().map(|own| format!("{own}\n\n"));
            let all = format!("{}{text}", own.unwrap_or_default());
            one.after_help(short).after_long_help(all)
        });
    }
    command
}

fn text(examples: &[Example]) -> String {
    let mut text = String::from("Examples:\n");
    for (line, what) in examples {
        text.push_str(&format!("  milepost {line}\n      {what}\n"));
    }
    text
}

/// Arguments of `milepost`, and their effect.
type Example = (&'static str, &'static str);

const EXAMPLES: &[(&str, &[Example])] = &[
    ("demo", &[("demo --seed 7", "watch another run of it")]),
    (
        "record",
        &[
            ("record run.jsonl", "each line is an event of the task `run`"),
            ("agent | milepost record - --task run", "events as a program prints them"),
            ("record *.traj", "runs of SWE-agent, a task each"),
            ("record ~/.claude/projects/site/*.jsonl", "sessions of Claude Code, a task each"),
        ],
    ),
    (
        "init",
        &[
            ("init", "a store in this folder, as `.milepost`"),
            ("init --outside", "a store in your data folder, which stays without this one"),
        ],
    ),
    (
        "start",
        &[
            ("start run", "a new task of yours, without events"),
            ("start run --user bob --initial state.json", "for another user, with a state"),
        ],
    ),
    (
        "import",
        &[
            ("import run.jsonl", "what `milepost export` made"),
            ("import run.jsonl --as copy", "the same under another name"),
            ("import run.html --dry-run", "what an import of a share would add, verified"),
            ("import ~/project", "the JSON checkpoints of a project"),
            ("import ~/.cache/engine", "those of all projects in it"),
            ("import ~/.claude/projects", "all sessions of Claude Code, a task each"),
            (
                "import checkpoints.sqlite",
                "what LangGraph's SqliteSaver keeps, a task for each thread",
            ),
            ("import runs/ old.jsonl", "every run in a folder, and an export"),
            ("import pause_state.json", "the context of a paused run"),
        ],
    ),
    (
        "export",
        &[
            ("export run -o run.jsonl", "a task as one file"),
            ("export --files -o all.jsonl", "all tasks, with the files they captured"),
            ("export run --redact", "without what looks like a secret"),
            ("export run old/ --format checkpoints", "a JSON file for each checkpoint"),
        ],
    ),
    (
        "share",
        &[
            ("share run -o run.html", "a file for a colleague's browser, without secrets"),
            ("share run --dry-run", "its size, and what is withheld"),
            ("share run -o run.html --withhold 'ACME-[0-9]+'", "without these numbers, either"),
        ],
    ),
    (
        "tui",
        &[
            ("tui", "the tasks; Enter opens one, ? has the keys"),
            ("tui run@12", "the task `run`, at event 12"),
        ],
    ),
    (
        "tasks",
        &[("tasks", "all of them"), ("tasks --user ana --limit 10", "the newest ten of ana")],
    ),
    ("lineages", &[("lineages run", "each fork of the task, and its active lineage")]),
    (
        "log",
        &[
            ("log run -n 20", "the last twenty events"),
            ("log run --step 3 --full", "all of what step 3 said"),
            ("log run --graph", "all lineages as a graph"),
            ("log run --kind tool_called --grep search", "calls that have to do with a search"),
            ("log run --since 10m --follow", "what comes, too"),
        ],
    ),
    (
        "replay",
        &[
            (
                "replay run --speed 10 --longest 1s",
                "ten times as fast, and never waiting for more than a second",
            ),
            ("replay run --speed max -- ./handle", "each event to a command"),
            ("replay run --check", "fold it in two ways, and compare"),
        ],
    ),
    ("show", &[("show run@17", "event 17"), ("show run --json", "the last event, for a program")]),
    (
        "state",
        &[
            ("state run", "what all events come to"),
            ("state run@17 --messages none", "before event 17, without the conversation"),
        ],
    ),
    (
        "states",
        &[
            ("states run", "the variables at each checkpoint"),
            ("states run /variables/score", "how the score went"),
        ],
    ),
    (
        "blame",
        &[
            ("blame run /variables/score", "which event set it last"),
            ("blame run /variables/score --history", "each that changed it"),
        ],
    ),
    (
        "bisect",
        &[
            (
                "bisect run --when '/variables/score < 0.5'",
                "the event after which the score is below",
            ),
            (
                "bisect run --run -- ./is-bad",
                "by a command that gets the state, and says by its exit code",
            ),
            ("bisect start run run@good", "step by step: then `good` and `bad`"),
        ],
    ),
    (
        "checkpoint",
        &[
            ("checkpoint", "choose one of all tasks, and go back to it"),
            ("checkpoint run", "one of a task"),
        ],
    ),
    (
        "checkpoints",
        &[
            ("checkpoints run", "those of a task"),
            ("checkpoints --where step=3 --status success", "of all tasks, by metadata and status"),
        ],
    ),
    (
        "mark",
        &[
            ("mark good", "the head of the task of this folder"),
            ("mark run good", "the head of a task, as `run@good` from now on"),
            ("mark run@17 before-it-broke --status failure", "an earlier point"),
        ],
    ),
    (
        "branch",
        &[
            ("branch run@good", "another lineage from there; the task stays where it is"),
            ("branch run~1 -m 'a smaller step'", "from the last checkpoint, and why"),
        ],
    ),
    ("switch", &[("switch run/1", "continue on another lineage; `milepost undo run` returns")]),
    (
        "restore",
        &[
            ("restore run@good", "continue there, in a new lineage"),
            ("restore run~1 -m 'try a smaller step'", "from the last checkpoint, and why"),
            ("restore run@good --files .", "only the files of this folder"),
        ],
    ),
    (
        "rollback",
        &[
            ("rollback run@good", "state and files together"),
            ("rollback run@good --dry-run", "only what would be done"),
        ],
    ),
    (
        "rewind",
        &[
            ("rewind", "list the prompts of this project's last session, and ask"),
            ("rewind --list", "the prompts, with the number of files that each changed"),
            ("rewind ~1 --dry-run", "what the last prompt did, and what would be taken back"),
            ("rewind prompt-2 --yes", "files and conversation as before the second prompt"),
        ],
    ),
    (
        "undo",
        &[
            ("undo run", "take the last restore back"),
            ("undo run --dry-run", "what that would do with the files"),
        ],
    ),
    ("redo", &[("redo run", "take the last undo back")]),
    (
        "recover",
        &[
            ("recover", "end interrupted restores"),
            ("recover run --give-up", "and leave the folder as it is"),
        ],
    ),
    (
        "diff",
        &[
            ("diff run@good run", "what has changed since"),
            ("diff run/0 other", "between lineages of two tasks"),
            ("diff run@good run --files", "the files, line by line"),
            ("diff run@good run --json", "a JSON patch (RFC 6902)"),
        ],
    ),
    (
        "capture",
        &[
            ("capture", "this folder, for the task of its name"),
            ("capture --task run work", "a folder, as part of a task"),
        ],
    ),
    (
        "run",
        &[
            ("run -- make test", "what it printed, how it ended, what it did to this folder"),
            ("run --when risk -- make clean", "checkpoints only where files may be lost"),
        ],
    ),
    ("files", &[("files run@good", "what was captured last before there")]),
    ("cat", &[("cat run@good src/main.rs", "what was in the file then")]),
    (
        "verify",
        &[
            ("verify", "all of the store"),
            ("verify run --states", "a task, folded from its beginning too"),
            ("verify --anchor heads.json", "also that nothing was taken away since"),
            ("verify --acknowledge", "and no longer count damage that was repaired"),
        ],
    ),
    ("doctor", &[("doctor", "what is right and what is not, and what to do")]),
    (
        "repair",
        &[("repair --dry-run", "what it would do"), ("repair", "mend it, and say what is lost")],
    ),
    ("anchor", &[("anchor > heads.json", "keep it somewhere else, for `verify --anchor`")]),
    ("key", &[("key store.key", "then `--key-file store.key` with each command")]),
    ("trust", &[("trust --show", "the commands of hooks.json"), ("trust", "let them run")]),
    ("pause", &[("pause run", "it stops at its next safe point")]),
    ("resume", &[("resume run", "continue the run")]),
    ("stop", &[("stop run", "it ends at its next safe point")]),
    ("guide", &[("guide run 'leave the tests alone'", "it is told with its next step")]),
    ("edit", &[("edit run plan='\"shorter\"'", "set an artifact")]),
    (
        "cleanup",
        &[
            (
                "cleanup --keep 10 --dry-run",
                "what would go of all but the last ten checkpoints of each task",
            ),
            ("cleanup --keep 10", "show the plan, and remove after a question"),
            (
                "cleanup --younger-than 30d --yes",
                "keep the checkpoints of the last 30 days; without a question",
            ),
        ],
    ),
    ("pin", &[("pin run@good", "no cleanup takes it")]),
    ("unpin", &[("unpin run@good", "cleanups may take it again")]),
    ("pins", &[("pins run", "what no cleanup takes")]),
    ("jobs", &[("jobs --cancel 7", "end a capture that takes too long")]),
    (
        "delete",
        &[
            ("delete run", "a task, for good"),
            ("delete --user ana --yes", "all of ana's, without asking"),
        ],
    ),
    ("erase", &[("erase run@17", "what event 17 says, for good; that it was there stays")]),
    ("compact", &[("compact", "remove dropped content from the disk")]),
    ("stats", &[("stats", "of the store"), ("stats --user ana", "of ana's tasks")]),
    (
        "serve",
        &[
            ("serve", "on this machine, on port 7733"),
            ("serve --listen 127.0.0.1:0 --json", "on a free port, which it prints"),
        ],
    ),
    (
        "ui",
        &[
            ("ui", "the tasks, in your browser"),
            ("ui run@17 --no-browser", "event 17; prints the address to open"),
        ],
    ),
    (
        "agent",
        &[
            ("agent install claude-code", "its sessions are recorded from now on"),
            ("agent install --all --dry-run", "what would be written into which settings"),
            ("agent status", "which agents are there, and what is installed"),
        ],
    ),
    (
        "config",
        &[
            ("config list", "your defaults and aliases"),
            ("config check", "what `serve` would do, and where each setting is from"),
        ],
    ),
    (
        "webhook",
        &[(
            "webhook https://example.com/hook --secret-file secret",
            "a document from standard input, as hooks.json calls it",
        )],
    ),
    (
        "search",
        &[
            ("search 'permission denied'", "in all tasks"),
            ("search IndentationError --task 'airline-*' --kind tool_returned", "in some results"),
        ],
    ),
    ("transcript", &[("transcript fix", "what was said, called and returned, in a pager")]),
    (
        "compare",
        &[
            ("compare airline-0/0 airline-0/3", "two trials, side by side"),
            ("compare fix other --texts", "two tasks, with what was said"),
        ],
    ),
    (
        "token",
        &[
            ("token create --user ana", "printed once"),
            ("token list", "those there are"),
            ("token revoke 3f1c9a02", "let it in no longer"),
        ],
    ),
    ("completions", &[("completions bash", "for `source <(milepost completions bash)`")]),
    ("man", &[("man ~/.local/share/man/man1", "then `man milepost-log`")]),
    ("openapi", &[("openapi > openapi.json", "to make clients from")]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits an example into words as a shell does, without its pipe and redirection.
    fn words(line: &str) -> Vec<String> {
        let line = line.split_once("| milepost ").map_or(line, |(_, own)| own);
        let line = line.split(" > ").next().unwrap();
        let (mut words, mut quoted) = (vec!["milepost".to_owned(), String::new()], false);
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words
    }

    #[test]
    fn every_command_has_examples_that_are_understood() {
        let mut wrong = Vec::new();
        for one in command().get_subcommands().filter(|one| !one.is_hide_set()) {
            let name = one.get_name();
            let found = EXAMPLES.iter().find(|(of, _)| *of == name);
            let Some((_, examples)) = found else {
                wrong.push(format!("`{name}` has no examples"));
                continue;
            };
            for (line, _) in *examples {
                match command().try_get_matches_from(words(line)) {
                    Ok(found) if found.subcommand_name() == Some(name) => {}
                    Ok(_) => wrong.push(format!("{line}: another command")),
                    Err(error) => wrong.push(format!("{line}: {error}")),
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
