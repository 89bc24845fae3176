//! An event kind and a state of the application's own: `cargo run --example own_reducer`.

use milepost::events::{Application, Data};
use milepost::state::Chunks;
use milepost::{Body, Engine, Event, Json, Options, Reducer, Result};

/// Counts epochs of a training loop.
struct Epochs;

impl Reducer for Epochs {
    type State = u64;
    fn name(&self) -> &str {
        "example.epochs"
    }
    fn version(&self) -> u32 {
        1
    }
    fn initial(&self) -> u64 {
        0
    }
    fn apply(&self, epochs: &mut u64, event: &Event, _: &dyn Chunks) -> Result<()> {
        *epochs +=
            u64::from(matches!(&event.body, Some(Body::Application(a)) if a.name == "epoch"));
        Ok(())
    }
    fn encode(&self, epochs: &u64) -> Result<Vec<u8>> {
        Ok(epochs.to_le_bytes().to_vec())
    }
    fn decode(&self, bytes: &[u8]) -> Result<u64> {
        milepost_codec::Reader::new(bytes, "epochs").u64()
    }
}

fn main() -> Result<()> {
    let engine = Engine::in_memory(Options::default().reducer(Epochs))?;
    let task = engine.start_task("training", "ana")?;
    for loss in ["0.9", "0.4", "0.6"] {
        task.append(Application { name: "epoch".into(), data: Data::Json(Json::new(loss)?) })?;
    }
    println!("{} epochs", engine.state(&Epochs, &task.point(task.head()?.next)?)?);
    engine.close()
}
