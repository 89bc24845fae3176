//! `stats`: counts and sizes of the store.

use milepost::Engine;
use serde_json::json;

use crate::error::Result;
use crate::output::{Out, big, size};

pub fn run(engine: &Engine, out: &mut Out) -> Result<()> {
    let stats = engine.stats()?;
    let counts = [
        ("tasks", stats.tasks),
        ("lineages", stats.lineages),
        ("events", stats.events),
        ("checkpoints", stats.checkpoints),
        ("event_bytes", stats.event_bytes),
        ("recovered", stats.recovered),
        ("seq", stats.seq),
        ("applied", stats.applied),
    ];
    let disk = [
        ("journal", stats.disk.journal),
        ("archive", stats.disk.archive),
        ("sled", stats.disk.sled),
        ("packs", stats.disk.packs),
        ("total", stats.disk.total),
    ];
    if out.json {
        let mut form = serde_json::Map::new();
        for (name, count) in counts {
            form.insert(name.into(), big(count));
        }
        let disk = disk
            .into_iter()
            .map(|(name, bytes)| (name.to_owned(), big(bytes)));
        form.insert(
            "disk".into(),
            json!(disk.collect::<serde_json::Map<_, _>>()),
        );
        return Ok(out.json(&form)?);
    }
    for (name, count) in counts {
        out.line(format!("{name:12} {count}"))?;
    }
    for (name, bytes) in disk {
        out.line(format!("{name:12} {}", size(bytes)))?;
    }
    Ok(())
}
