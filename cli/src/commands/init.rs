//! `init`: a store for a project, in its folder or outside of it.

use std::path::{Path, PathBuf};

use milepost::Options;
use serde_json::json;

use crate::args;
use crate::error::{Failure, Result};
use crate::output::Out;
use crate::outside;
use crate::store_locator::{FOLDER, StoreArgs};

pub fn run(store: &StoreArgs, args: &args::Init, out: &mut Out) -> Result<()> {
    let project = project(&args.folder)?;
    let (inside, away) = (project.join(FOLDER), outside::store_of(&project));
    let places = [Some(&inside), away.as_ref()];
    let is_there = |place: &&PathBuf| place.symlink_metadata().is_ok();
    let there = places.into_iter().flatten().find(is_there).cloned();
    let is_new = there.is_none();
    let dir = match there {
        Some(place) if (place == inside) == args.outside => {
            let shown = place.display();
            return Err(Failure::conflict(format!("the project has a store: {shown}"))
                .hint("`--store DIR` makes another one, at any place"));
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
    Ok(out.line("next: `milepost capture`, `milepost run -- COMMAND` or `milepost record FILE`")?)
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
