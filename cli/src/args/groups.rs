//! The commands in groups, for the help of `milepost` itself.

use clap::Command;

/// A group of commands, with an example.
struct Group {
    title: &'static str,
    commands: &'static [&'static str],
    example: &'static str,
}

const GROUPS: [Group; 7] = [
    Group {
        title: "Record",
        commands: &["demo", "init", "start", "record", "import", "run", "agent", "capture", "mark"],
        example: "run --task site -- make",
    },
    Group {
        title: "Look",
        commands: &[
            "tui",
            "tasks",
            "log",
            "show",
            "transcript",
            "search",
            "state",
            "states",
            "checkpoints",
            "lineages",
            "files",
            "cat",
            "replay",
            "stats",
        ],
        example: "log site",
    },
    Group {
        title: "Compare",
        commands: &["compare", "diff", "blame", "bisect"],
        example: "compare site/0 site/1",
    },
    Group {
        title: "Go back",
        commands: &[
            "checkpoint",
            "restore",
            "rollback",
            "rewind",
            "undo",
            "redo",
            "branch",
            "switch",
            "recover",
        ],
        example: "rollback site@before-sed",
    },
    Group {
        title: "Steer a run",
        commands: &["pause", "resume", "stop", "guide", "edit"],
        example: "guide site shorter sentences",
    },
    Group {
        title: "Keep",
        commands: &[
            "export", "share", "verify", "anchor", "doctor", "repair", "key", "trust", "cleanup",
            "pin", "unpin", "pins", "delete", "erase", "compact",
        ],
        example: "export site -o site.jsonl",
    },
    Group {
        title: "Serve and set up",
        commands: &[
            "serve",
            "ui",
            "jobs",
            "token",
            "webhook",
            "config",
            "completions",
            "man",
            "openapi",
        ],
        example: "serve --listen 127.0.0.1:7733",
    },
];

/// Columns of a line of the short help.
const WIDTH: usize = 80;

/// The help of `milepost`: the groups take the place of one long list.
const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}Everywhere:
{options}{after-help}";

const MORE: &str = "`milepost COMMAND -h` has the options of a command, `milepost --help` a line \
                    for each.";

/// Adds the groups to the help of `milepost`: names with `-h`, a line for each command with
/// `--help`.
pub fn grouped(command: Command) -> Command {
    let long = long(&command);
    command
        .help_template(TEMPLATE)
        .before_help(short())
        .before_long_help(long)
        .after_help(MORE)
        .arg_required_else_help(true)
}

fn short() -> String {
    let mut text = String::new();
    for Group { title, commands, example } in &GROUPS {
        let mut line = format!("{title}:");
        for name in *commands {
            if line.len() + 1 + name.len() > WIDTH {
                text.push_str(&line);
                line = String::from("\n   ");
            }
            line.push(' ');
            line.push_str(name);
        }
        text.push_str(&format!("{line}\n    $ milepost {example}\n"));
    }
    text.truncate(text.trim_end().len());
    text
}

fn long(command: &Command) -> String {
    let longest = command.get_subcommands().map(|one| one.get_name().len()).max();
    let width = longest.unwrap_or(0);
    let mut text = String::new();
    for Group { title, commands, example } in &GROUPS {
        text.push_str(&format!("{title}:\n"));
        for one in commands.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            // The first sentence.
            let about = about.split(". ").next().unwrap_or_default().trim_end_matches('.');
            let also = one.get_visible_aliases().collect::<Vec<_>>().join(", ");
            let also = if also.is_empty() { also } else { format!(" [alias: {also}]") };
            text.push_str(&format!("  {:width$}  {about}{also}\n", one.get_name()));
        }
        text.push_str(&format!("    $ milepost {example}\n\n"));
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::args;

    use super::*;

    #[test]
    fn each_command_that_is_shown_is_in_one_group() {
        let command = args::command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let shown: BTreeSet<&str> = shown.map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        assert_eq!(grouped.len(), shown.len());
        assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), shown);
    }

    #[test]
    fn each_command_has_a_line_of_at_most_100_columns_in_the_long_help() {
        let text = long(&args::command());
        for line in text.lines() {
            assert!(line.len() <= 100, "{line}");
        }
    }

    #[test]
    fn each_example_can_be_parsed() {
        for Group { example, .. } in &GROUPS {
            let words = std::iter::once("milepost").chain(example.split(' '));
            args::command().try_get_matches_from(words).expect(example);
        }
    }

    #[test]
    fn the_short_help_fits_on_a_screen() {
        let text = args::command().render_help().to_string();
        assert!(text.lines().count() <= 30, "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH + 20), "{text}");
        for one in args::command().get_subcommands_mut() {
            let (name, text) = (one.get_name().to_owned(), one.render_help().to_string());
            assert!(text.lines().count() <= 40, "{name}: {text}");
        }
    }
}
