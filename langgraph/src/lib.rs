//! Threads of LangGraph in a Milepost store.
//!
//! A checkpoint is one commit: events for people (steps, changes of variables), an event with the
//! bytes that LangGraph's serializer wrote, and a mark whose alias is the checkpoint's id. A list
//! that grew is stored as its new items, a channel that did not change not at all. The state at a
//! mark has every channel's bytes as they were given.
//!
//! ```text
//! alias     ids of checkpoints, by namespace
//! events    the events of a checkpoint
//! change    what a checkpoint changes in the channels
//! record    the bytes of the event of a checkpoint
//! thread    the state: channels and their values
//! reducer   events -> state
//! items     items of lists and entries of maps in MessagePack
//! msgpack   MessagePack -> JSON
//! objects   Python objects in JSON
//! ```
//!
//! ```
//! use milepost::{Engine, Mark, Options};
//! use milepost_langgraph::{Checkpoint, Given, Thread, ThreadReducer, Typed};
//!
//! let engine = Engine::in_memory(Options::default().reducer(ThreadReducer))?;
//! let task = engine.start_task("lg:1", "ana")?;
//! let list = Typed::new("msgpack", &[0x91, 0xa2, b'h', b'i']);
//! let checkpoint = Checkpoint {
//!     id: "1ef0".into(),
//!     parent: None,
//!     content: Typed::new("msgpack", &[0x80]),
//!     metadata: Typed::new("msgpack", &[0x80]),
//!     step: None,
//! };
//! let (name, version) = ("messages".into(), "1".into());
//! let values = [Given { name, version, value: Some(list.clone().into()) }];
//! let events = checkpoint.events(&Thread::default(), &values).expect("every value is given");
//! let point = task.append_marked(milepost::Append::batch(events), Mark::new().alias("1ef0"))?;
//!
//! let thread = engine.state(&ThreadReducer, &task.point(point.at)?)?;
//! assert_eq!(thread.value("messages"), Some(Ok(list)));
//! # Ok::<(), milepost::Error>(())
//! ```

mod alias;
mod change;
mod events;
mod items;
mod msgpack;
mod objects;
mod record;
mod reducer;
#[cfg(test)]
mod tests;
mod thread;

pub use alias::{alias, id_in, prefix};
pub use change::{Given, GivenValue, Missing};
pub use events::{Checkpoint, Step};
pub use items::{joined, joined_map, split, split_map};
pub use msgpack::to_json;
pub use reducer::ThreadReducer;
pub use thread::{Channel, Content, Lost, Thread, Typed};
