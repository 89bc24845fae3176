//! `milepost` itself: the arguments that every command takes, and the help.

use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory as _, Parser};

use super::command::Examples;
use super::{Command, GROUPS};
use crate::args::duration;
use crate::output::When;

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

/// A group of commands, with an example.
pub struct HelpGroup {
    pub title: &'static str,
    /// Variants of the commands, and their examples.
    pub commands: &'static [(&'static str, Examples)],
    pub example: &'static str,
}

impl HelpGroup {
    /// Returns the names of the commands, and their examples.
    fn named(&self) -> impl Iterator<Item = (String, Examples)> {
        self.commands.iter().map(|(variant, examples)| (variant.to_lowercase(), *examples))
    }
}

/// Number of examples of a command in its short help.
const SHORT: usize = 3;

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

/// First lines of the short help, for who has just installed it.
const BEGIN: &str = "\
Begin:
    $ milepost demo                        see what it does, in half a second
    $ milepost agent install claude-code   record each session of a coding agent
    $ milepost record - --task loop        record a program: an event on each line
    $ milepost ui                          look at what was recorded in a browser
";

/// Builds the command line with its examples.
pub fn command() -> clap::Command {
    let mut command = grouped(Args::command());
    for (name, examples) in GROUPS.iter().flat_map(HelpGroup::named) {
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

fn text(examples: Examples) -> String {
    let mut text = String::from("Examples:\n");
    for (line, what) in examples {
        text.push_str(&format!("  milepost {line}\n      {what}\n"));
    }
    text
}

/// Adds the groups to the help of `milepost`: names with `-h`, a line for each command with
/// `--help`.
fn grouped(command: clap::Command) -> clap::Command {
    let long = long(&command);
    command
        .help_template(TEMPLATE)
        .before_help(short())
        .before_long_help(long)
        .after_help(MORE)
        .arg_required_else_help(true)
}

fn short() -> String {
    let mut text = format!("{BEGIN}\n");
    for group in GROUPS {
        let mut line = format!("{}:", group.title);
        for (name, _) in group.named() {
            if line.len() + 1 + name.len() > WIDTH {
                text.push_str(&line);
                line = String::from("\n   ");
            }
            line.push(' ');
            line.push_str(&name);
        }
        text.push_str(&format!("{line}\n"));
    }
    text.truncate(text.trim_end().len());
    text
}

fn long(command: &clap::Command) -> String {
    let longest = command.get_subcommands().map(|one| one.get_name().len()).max();
    let width = longest.unwrap_or(0);
    let mut text = String::new();
    for group in GROUPS {
        let HelpGroup { title, example, .. } = group;
        text.push_str(&format!("{title}:\n"));
        for one in group.named().filter_map(|(name, _)| command.find_subcommand(name)) {
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
    use std::collections::BTreeMap;

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
        let all: BTreeMap<String, Examples> = GROUPS.iter().flat_map(HelpGroup::named).collect();
        let command = command();
        for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let name = one.get_name();
            let examples = all.get(name).copied().unwrap_or_default();
            if examples.is_empty() {
                wrong.push(format!("`{name}` has no examples"));
            }
            for (line, _) in examples {
                match command.clone().try_get_matches_from(words(line)) {
                    Ok(found) if found.subcommand_name() == Some(name) => {}
                    Ok(_) => wrong.push(format!("{line}: another command")),
                    Err(error) => wrong.push(format!("{line}: {error}")),
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn each_command_has_a_line_of_at_most_100_columns_in_the_long_help() {
        let text = long(&command());
        for line in text.lines() {
            assert!(line.len() <= 100, "{line}");
        }
    }

    #[test]
    fn each_example_can_be_parsed() {
        for HelpGroup { example, .. } in GROUPS {
            let words = std::iter::once("milepost").chain(example.split(' '));
            command().try_get_matches_from(words).expect(example);
        }
    }

    #[test]
    fn the_short_help_fits_on_a_screen() {
        let text = command().render_help().to_string();
        assert!(text.lines().count() <= 30, "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH + 20), "{text}");
        for one in command().get_subcommands_mut() {
            let (name, text) = (one.get_name().to_owned(), one.render_help().to_string());
            assert!(text.lines().count() <= 40, "{name}: {text}");
        }
    }
}
