//! Damaged packs: whatever is refused then, no key that was used is free again.

use std::path::Path;

use milepost::{Engine, LineageId, Options};

use super::model::{Model, Seen};
use crate::folder;

/// Damages the packs and copies of a closed store, compacts it, and looks up its keys.
pub fn damage(root: &Path, options: Options, model: &Model) -> Result<(), String> {
    for path in folder::files(&root.join("packs"), "").unwrap() {
        let mut bytes = std::fs::read(&path).unwrap();
        for byte in bytes.iter_mut().skip(60).step_by(40) {
            *byte ^= 1;
        }
        std::fs::write(&path, bytes).unwrap();
    }
    // A store that does not open, or is not compacted, keeps its keys.
    let Ok(engine) = Engine::open(root, options) else {
        return Ok(());
    };
    let compacted = engine.retention().compact(&mut |_| {});
    for name in model.live() {
        let known = &model.tasks[&name];
        let Ok(task) = engine.task(&name) else {
            continue;
        };
        for id in known.there() {
            let Ok(lineage) = task.lineage_named(LineageId(id)) else {
                continue;
            };
            for key in known.keys(id) {
                let Seen::Whole { first, .. } = known.key(id, &key) else {
                    continue;
                };
                match lineage.appended_under(&key) {
                    Ok(None) => {
                        return Err(format!(
                            "I14: with damaged packs and a compaction ({compacted:?}) key {key} of \
                             {name}/{id} is free, it was used at {first}"
                        ));
                    }
                    Ok(Some(range)) if range.start != first => {
                        return Err(format!("I14: key {key} is at {range:?}, not {first}"));
                    }
                    _ => {}
                }
            }
        }
    }
    // The end may report the damage as missing, too.
    let _ = engine.close();
    Ok(())
}
