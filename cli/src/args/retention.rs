//! Arguments of the commands that remove content, and of `pin` and `stats`.

use std::time::Duration;

use clap::{ArgGroup, Args as ClapArgs};
use milepost_api::RetentionAsked;

use super::span;

#[derive(Debug, ClapArgs)]
pub struct Cleanup {
    /// Only the tasks of this user.
    #[arg(long, conflicts_with = "task")]
    pub user: Option<String>,
    /// Only this task.
    #[arg(long)]
    pub task: Option<String>,
    /// Keep the newest N checkpoints of each task. This, --younger-than or --trim-before is
    /// required: without one, the effects of some policies are printed.
    #[arg(long, value_name = "N", value_parser = parse_keep)]
    pub keep: Option<usize>,
    /// Keep checkpoints younger than this: `90s`, `30m`, `12h` or `7d`. With --keep, keep both.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub younger_than: Option<Duration>,
    /// Remove the events before this point and the checkpoints there, and keep later ones and those
    /// of other lineages. With --keep or --younger-than, keep what either keeps.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["task", "user"])]
    pub trim_before: Option<String>,
    /// Keep the events that are needed to undo the last N restores. Default: 3.
    #[arg(long, value_name = "N")]
    pub undo: Option<u32>,
    /// Remove marks only. Otherwise the events before the oldest kept checkpoint are removed too,
    /// and its state stays.
    #[arg(long)]
    pub marks_only: bool,
    /// Also drop lineages that no kept checkpoint and no undo needs.
    #[arg(long, conflicts_with = "marks_only")]
    pub drop_lineages: bool,
    /// First export the tasks that change to `backups/` in the store, as a file for `import`.
    #[arg(long, conflicts_with = "dry_run")]
    pub backup: bool,
    /// Change nothing: print the plan.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
}

/// Parses a number of kept checkpoints.
fn parse_keep(text: &str) -> Result<usize, String> {
    let most = RetentionAsked::KEEP_MAX;
    let number = text.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("keep 0 to {most} checkpoints"))
}

/// Parses a whole number and a unit. A fraction of a second would be lost in a request.
fn age(text: &str) -> Result<Duration, String> {
    match span(text).filter(|age| age.subsec_nanos() == 0) {
        Some(age) => Ok(age),
        None => Err("an age is a whole number and s, m, h or d, as in 90s, 30m, 12h or 7d".into()),
    }
}

#[derive(Debug, ClapArgs)]
pub struct Pin {
    /// The address of a checkpoint: TASK@LABEL, TASK~N or @HEX.
    pub address: String,
    /// The reason.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Unpin {
    /// The address of a checkpoint: TASK@LABEL, TASK~N or @HEX.
    pub address: String,
}

#[derive(Debug, ClapArgs)]
#[command(group(ArgGroup::new("what").args(["task", "user"]).required(true)))]
pub struct Delete {
    /// The task's id.
    pub task: Option<String>,
    /// All tasks of this user.
    #[arg(long)]
    pub user: Option<String>,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Erase {
    /// The address of the event, as for `show`: TASK@N.
    pub address: String,
    /// The reason. It is kept.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Compact {
    /// Change nothing: print the size of the store and the free space that compaction needs.
    #[arg(long)]
    pub dry_run: bool,
    /// Begin even if the free space seems too small.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Stats {
    /// Print the size of each task of this user.
    #[arg(long)]
    pub user: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_checkpoints_are_kept_as_a_request_can_name() {
        assert_eq!((parse_keep("0"), parse_keep("1000000")), (Ok(0), Ok(1_000_000)));
        for wrong in ["1000001", "-1", "ten", ""] {
            assert!(parse_keep(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_age_is_a_whole_number_and_a_unit() {
        let seconds = |text| age(text).map(|age| age.as_secs());
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("30m"), Ok(1800));
        assert_eq!(seconds("12h"), Ok(43_200));
        assert_eq!(seconds("7d"), Ok(604_800));
        assert_eq!(seconds("0s"), Ok(0));
        for wrong in ["", "7", "d", "7w", "-7d", "+7d", "1.5h", "7 d", "7dd", "7d7", "1500ms"] {
            let error = age(wrong).expect_err(wrong);
            assert!(error.contains("s, m, h or d"), "{wrong}: {error}");
        }
        assert!(age("99999999999999999d").is_err());
        assert!(age("99999999999999999999d").is_err());
    }
}
