//! A client and a service, over a socket; and servers of another kind.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

mod again;
mod agents;
mod attachments;
mod both_ways;
mod branches;
mod calls;
mod checkpoints;
mod connects;
mod described;
mod fake;
mod follows;
mod going_back;
mod hostile;
mod jobs;
mod maintenance;
mod passes;
mod pins;
mod proxy;
mod readings;
mod refused;
mod served;
mod streamed;
