//! A prompt optimizer with four layers a round that keeps its whole state in a Milepost store.
//!
//! ```text
//! optimizer.rs    Optimizer: runs one layer after another, with safe points in between
//! layers.rs       the questions of each layer to the model, and the events from the answers
//! place.rs        rounds and layers, and their order
//! view.rs         the part of the run's state that the optimizer reads
//! model.rs        the scripted model, in place of a network
//! person.rs       actions of people on a run: guidance, a new candidate
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
