//! An event kind and a state of the application's own: `cargo run --example own_reducer`.

use milepost::events::Application;
use milepost::{Engine, Event, Options, Result, SerdeReducer};

/// The best epoch of a training loop.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Best {
    epochs: u64,
    loss: Option<f64>,
}

fn main() -> Result<()> {
    let best = SerdeReducer::new("example.best", 1, |best: &mut Best, event: &Event| {
        if let Some(loss) = event.application::<f64>("epoch")? {
            best.epochs += 1;
            best.loss = Some(best.loss.map_or(loss, |least| least.min(loss)));
        }
        Ok(())
    });
    let engine = Engine::in_memory(Options::default().reducer(best))?;
    let task = engine.start_task("training", "ana")?;
    for loss in [0.9, 0.4, 0.6] {
        task.append(Application::new("epoch", &loss)?)?;
    }
    println!("{:?}", engine.state(&best, &task.point(task.head()?.next)?)?);
    engine.close()
}
