//! `doctor`: condition of a store, with remedies.
//!
//! ```text
//! check     one check, and its result
//! repairs   records of repaired damage
//! place     location: owner, disk and free space
//! within    content: counts, unapplied commits, findings of opening
//! verified  time of the last full verification
//! ```

mod check;
mod place;
mod repairs;
mod verified;
mod within;

use milepost::ErrorKind;
use milepost::repair::repairs_on_record;

use self::check::{Check, State};
use super::command::{CliCommand, Examples, Run};
use crate::commands::verify::{sentence, when};
use crate::error::{CORRUPT, Failure, Result};
use crate::output::{Out, Style, count, folded, printable};
use crate::store_locator::{Opened, StoreArgs, now_us};

/// Maximum number of records of repairs that are printed, the newest ones; `--json` has all.
const RECORDS_SHOWN: usize = 10;

/// Columns before what a check says, and those of a terminal below which its further lines begin
/// farther on the left.
const INDENT: usize = 20;
const NARROW: usize = 60;

/// Report the condition of the store, with remedies.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs;

impl CliCommand for DoctorArgs {
    const EXAMPLES: Examples = &[("doctor", "what is right and what is not, and what to do")];
    const RUN: Run<Self> = Run::Alone(|store, _, out| run(store, out));
}

fn run(store: &StoreArgs, out: &mut Out) -> Result<()> {
    let folder = store.folder()?;
    let mut checks =
        vec![Check::fine("version", format!("milepost {}", env!("CARGO_PKG_VERSION")))];
    checks.extend(place::checks(&folder));
    let mut is_open = true;
    match store.find_at(&folder) {
        Ok(found) => {
            checks.extend(within::checks(&found, &folder)?);
            checks.push(verified::check(&folder, now_us()));
            if let Opened::Local(engine) = found {
                engine.close()?;
            }
        }
        Err(failure) => {
            let is_held = failure.kind() == Some(ErrorKind::Unavailable);
            is_open = is_held;
            checks.push(within::closed(failure));
            if is_held && let Ok(engine) = store.read_only_at(&folder) {
                // The holder may replace its files at any time; the check is then left out.
                checks.extend(within::contents(&engine));
                checks.push(verified::check(&folder, now_us()));
                let _ = engine.close();
            }
        }
    }
    if let Ok(repairs) = repairs_on_record(&folder) {
        checks.push(repairs::check(repairs, is_open));
    }
    print(&checks, out)?;
    let wrong = checks.iter().filter(|check| check.state == State::Wrong);
    match wrong.count() as u64 {
        0 => Ok(()),
        wrong => Err(Failure::new(format!("{} wrong", count(wrong, "thing")))
            .code_of(CORRUPT)
            .hint("each says above what to do about it")),
    }
}

fn print(checks: &[Check], out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&checks)?);
    }
    let columns = out.limit();
    let indent = if columns < NARROW { 4 } else { INDENT };
    for check in checks {
        let (style, mark) = match check.state {
            State::Fine => (Style::Good, "ok"),
            State::Look => (Style::Name, "look"),
            State::Wrong => (Style::Bad, "WRONG"),
        };
        let mark = out.style(style, &format!("{mark:5}"));
        let name = check.name;
        let said = folded(&printable(&check.said), INDENT - 1, indent, columns);
        out.line(format!("{mark}  {name:11} {said}"))?;
        for record in check.records.iter().rev().take(RECORDS_SHOWN).rev() {
            out.advice(format!("{:indent$}{}", "", sentence(record)))?;
            out.advice(format!("{:indent$}    {}", "", when(record)))?;
        }
        if let Some(advice) = &check.advice {
            out.advice(format!("{:indent$}{advice}", ""))?;
        }
    }
    Ok(())
}
