//! Requirements of the source documents, each by its number: 000 is the checkpoint command, 001
//! automatic checkpoints, 003 cleanup and statistics, 004 rollback with files. Requirements that
//! need a terminal, a service or a folder have tests in the crates of the command, the server and
//! the workspace, with the number in a comment.

mod addresses;
mod disk_fails;
mod one_call;
mod saves;
