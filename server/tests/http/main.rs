//! The service, asked as a client asks it: without a socket where that says nothing.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests"
)]

mod append;
mod attached;
mod changing;
mod compression;
mod control;
mod cors;
mod described;
mod description;
mod events;
mod files;
mod hostile;
mod kept;
mod limited;
mod listening;
mod lists;
mod maintenance;
mod marks;
mod matrix;
mod metrics;
mod once;
mod open;
mod paths;
mod permits;
mod points;
mod random;
mod raw;
mod reopened;
mod restores;
mod seeds;
mod served;
mod sockets;
mod start;
mod streams;
mod tags;
mod theirs;
mod tls;
mod transport;
mod who;
