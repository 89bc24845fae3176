//! The public handles, and the open engine behind them.

// tidy: names the parts
pub(crate) mod append;
pub(crate) mod attachments;
pub(crate) mod audit;
pub(crate) mod background;
pub(crate) mod caller;
pub(crate) mod chunk_store;
pub(crate) mod each_keyed;
pub(crate) mod engine;
pub(crate) mod follow;
#[cfg(not(shuttle))]
pub(crate) mod followers;
pub(crate) mod hooks;
pub(crate) mod inner;
pub(crate) mod lineage;
pub(crate) mod messages;
pub(crate) mod options;
pub(crate) mod participant;
pub(crate) mod participation;
pub(crate) mod proof;
pub(crate) mod reads;
pub(crate) mod run_control;
pub(crate) mod states;
pub(crate) mod store;
pub(crate) mod task;
pub(crate) mod ticket;
pub(crate) mod unfinished;
pub(crate) mod view;
pub(crate) mod whole;
