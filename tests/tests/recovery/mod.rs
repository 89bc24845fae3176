//! Opening of a store in each state: a test for each row of the tables in `docs/RECOVERY.md`, named
//! after it. I1 (what was acknowledged is there), I2 (no offset twice), I4 (damage is named, never
//! believed), and the two copies that rebuild each other.
//!
//! ```text
//! stores.rs    the stores that are damaged: closed, killed, killed with everything applied
//! check.rs     what every row has to hold: answers, findings, what was set aside, that it lasts
//! journal.rs  segments.rs  sled.rs  archive.rs  packs.rs  rest.rs      the four tables
//! cuts.rs      a journal cut or damaged at random places
//! repairs.rs   the records of repairs
//! large.rs     sled built anew from a large archive
//! folders.rs   what is taken for a store
//! ```

mod archive;
mod check;
mod cuts;
mod folders;
mod journal;
mod large;
mod pack_copies;
mod packs;
mod repairs;
mod rest;
mod segments;
mod sled;
mod stores;
