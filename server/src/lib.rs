//! Milepost over HTTP: the same log for engines in other languages, dashboards and operators.
//!
//! `docs/HTTP.md` fixes routes, shapes, errors, limits and who may do what.
//!
//! ```text
//! server.rs    an engine that is served: options, router, stop       options.rs
//! listening.rs where it listens: TCP, TLS, a socket                  tls.rs
//! attach.rs    a store in use, reached by a socket in it
//! connections.rs  taking connections, answering on one, ending them  patient.rs  held.rs
//! routes/      what is answered, one family of routes a folder
//! forms/       how what the engine knows is shown on `/v1`
//! streams/     events as they are committed
//! view.rs      an engine as whoever asks may see and change it       who.rs  tokens.rs  quotas.rs
//! by.rs        for whom something is changed, and on which conditions appending.rs
//! folder.rs    a workspace's folder on this machine                 folds.rs
//! budget.rs    bytes that requests may hold                           buffer.rs  read.rs
//! leaves.rs    leaves for what takes long
//! wrong.rs     what went wrong, and how each family says it          input.rs
//! accept.rs    which form of an answer somebody wants                tag.rs
//! cors.rs      pages of other origins
//! compressed.rs  answers that are packed, and bodies that came so    unpacked.rs
//! streamed.rs  answers that are longer than memory                state_text.rs
//! around.rs    what happens around each request: ids, log, limits    asked.rs  time.rs
//! open_files.rs  files kept for the store
//! keep_open.rs  opening the store again after a failure               disk.rs
//! meters.rs    what the service counts of itself
//! ```

mod accept;
mod appending;
mod around;
mod asked;
mod attach;
mod budget;
mod buffer;
mod by;
mod compressed;
mod connections;
mod cors;
mod disk;
mod folder;
mod folds;
mod forms;
mod held;
mod input;
mod keep_open;
mod leaves;
mod listening;
mod meters;
mod open_files;
mod options;
mod patient;
mod quotas;
mod read;
mod routes;
mod server;
mod state_text;
mod streamed;
mod streams;
mod tag;
mod time;
mod tls;
mod tokens;
mod unpacked;
mod view;
mod who;
mod wrong;

pub use attach::{Attached, attach, attach_with};
pub use cors::{NoOrigin, Origin};
pub use keep_open::KeptOpen;
pub use listening::Listening;
pub use open_files::raise_open_files;
pub use options::ServerOptions;
pub use routes::openapi;
pub use server::Server;
pub use tls::Tls;
pub use tokens::{NewToken, Refused, TokenInfo, TokenLimits, Tokens};
