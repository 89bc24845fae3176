//! A prompt optimizer of four layers a round that keeps all it needs in a Milepost store.
//!
//! ```text
//! optimizer.rs    Optimizer: from safe point to safe point, one layer after another
//! layers.rs       what each layer asks the model, and the events it makes of the answers
//! place.rs        rounds and layers, and which one comes next
//! view.rs         what the optimizer reads from the state of its run
//! model.rs        the scripted model, in place of a network
//! person.rs       what people do to a run: guide it, put in a candidate
//! ```

mod layers;
mod model;
mod optimizer;
mod person;
mod place;
mod view;

pub use model::{Model, Reflection};
pub use optimizer::{Brief, End, Optimizer, Told, options, start};
pub use person::{guide, propose};
pub use place::{Layer, Place};
pub use view::{Rules, View};
