//! `init`: a store for a project, in its folder or outside of it.

use std::path::{Path, PathBuf};

use milepost::Options;
use serde_json::json;

use super::command::{CliCommand, Examples, Run};
use crate::error::{Failure, Result, USAGE};
use crate::output::Out;
use crate::outside;
use crate::store_locator::{FOLDER, SETTINGS, StoreArgs};

/// Create a store for a project. `capture`, `run`, `mark`, `record` and `import` do it, too.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// The project.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Create the store in your data folder, not in the project: it stays when the project is
    /// removed. Commands in the project find it by the path of the project.
    #[arg(long)]
    pub outside: bool,
}

impl CliCommand for InitArgs {
    const EXAMPLES: Examples = &[
        ("init", "a store in this folder, as `.milepost`"),
        ("init --outside", "a store in your data folder, which stays without this one"),
    ];
    const RUN: Run<Self> = Run::Alone(run);
}

fn run(store: &StoreArgs, args: &InitArgs, out: &mut Out) -> Result<()> {
    if let Some(dir) = store.named() {
        return named(store, &dir, args, out);
    }
    let project = project(&args.folder)?;
    let (inside, away) = (project.join(FOLDER), outside::store_of(&project));
    let places = [Some(&inside), away.as_ref()];
    // A folder of another kind, or one whose store was not made to its end, is none.
    let is_there = |place: &&PathBuf| place.join(SETTINGS).is_file();
    let there = places.into_iter().flatten().find(is_there).cloned();
    let is_new = there.is_none();
    let dir = match there {
        Some(place) if (place == inside) == args.outside => {
            let shown = place.display();
            return Err(Failure::conflict(format!("the project has a store: {shown}"))
                .hint("`milepost --store DIR init` makes another one, at any place"));
        }
        Some(place) => place,
        None if args.outside => outside::make(&project)?,
        None => inside,
    };
    // A store that is there may be in use; only one to make is opened.
    if is_new {
        store.create_at(&dir, Options::default())?.close()?;
    }
    if out.json {
        return Ok(out.json(&json!({ "store": dir, "project": project, "created": is_new }))?);
    }
    out.line(match is_new {
        true => format!("made the store {}", dir.display()),
        false => format!("the store is there: {}", dir.display()),
    })?;
    Ok(out
        .advice("next: `milepost capture`, `milepost run -- COMMAND` or `milepost record FILE`")?)
}

/// Creates the store at the place that `--store` or MILEPOST_STORE names.
fn named(store: &StoreArgs, dir: &Path, args: &InitArgs, out: &mut Out) -> Result<()> {
    if args.outside || args.folder != Path::new(".") {
        return Err(Failure::new("--store names the place of the store, and so does the rest")
            .code_of(USAGE)
            .hint("`milepost --store DIR init`, or `milepost init` without --store"));
    }
    let is_new = !dir.join(SETTINGS).is_file();
    if is_new {
        store.create_at(dir, Options::default())?.close()?;
    }
    if out.json {
        return Ok(out.json(&json!({ "store": dir, "project": null, "created": is_new }))?);
    }
    let (verb, shown) =
        (if is_new { "made the store" } else { "the store is there:" }, dir.display());
    Ok(out.line(format!("{verb} {shown}"))?)
}

fn project(folder: &Path) -> Result<PathBuf> {
    let shown = folder.display();
    let failure = match std::fs::canonicalize(folder) {
        Ok(project) if project.is_dir() => return Ok(project),
        Ok(_) => Failure::new(format!("{shown} is no folder")),
        Err(error) => Failure::new(format!("cannot open {shown}: {error}")),
    };
    Err(failure.hint("DIR is a folder that is there; default: this one"))
}
