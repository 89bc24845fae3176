//! The tests of this crate in one program, which is linked once.
#![expect(clippy::unwrap_used, reason = "a failed test is a panic")]

mod fold;
mod long;
mod verify;
