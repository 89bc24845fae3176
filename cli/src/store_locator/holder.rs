//! The program that has the store open, for commands that create the store if there is none.

// tidy: one part of the locator

use std::path::Path;

use milepost::{Engine, Options};

use super::{Opened, SOCKET, StoreArgs, WAIT, made_at, patiently, with_hooks};
use crate::backend::Remote;
use crate::error::Result;

impl StoreArgs {
    /// Opens the store, and creates it if it does not exist. If another program has it open and
    /// answers, returns that program.
    pub fn make_or_find(&self, options: Options, has_hooks: bool) -> Result<Opened> {
        let dir = self.there_or_here()?;
        let options = self.options(options.create(true))?;
        let options = if has_hooks { with_hooks(&dir, options)? } else { options };
        patiently(self.wait.unwrap_or(WAIT), &mut |_| true, || {
            match made_at(&dir, options.clone()) {
                Err(failure) if failure.is_in_use() => match answering(&dir)? {
                    Some(there) => Ok(Opened::Remote(there)),
                    None => Err(failure),
                },
                made => made.map(Opened::Local),
            }
        })
    }

    /// Opens the store to serve it, and creates it if it does not exist. A program that answers at
    /// the store is not waited for: it may serve for days.
    pub fn open_to_serve(&self, options: Options) -> Result<Engine> {
        let dir = self.there_or_here()?;
        let options = with_hooks(&dir, self.options_for(&dir, options.create(true))?)?;
        let is_served = || matches!(answering(&dir), Ok(Some(_)));
        let wait = self.wait.unwrap_or(WAIT);
        patiently(wait, &mut |_| !is_served(), || made_at(&dir, options.clone())).map_err(
            |failure| match failure.is_in_use() && is_served() {
                true => failure.hint(
                    "that program serves it already: commands here use it, and `milepost ui \
                     --no-browser` prints the address of its page",
                ),
                false => failure,
            },
        )
    }

    /// Returns the program that has the store open and answers, or the service that replaces it.
    pub fn holder(&self) -> Result<Option<Remote>> {
        match self.url() {
            Some(url) => Remote::at(&url).map(Some),
            // A store that is not to be opened is reported once an input needs it.
            None => self.there_or_here().map_or(Ok(None), |dir| answering(&dir)),
        }
    }
}

/// Returns the program that has a store open, if it answers at the store's socket.
fn answering(dir: &Path) -> Result<Option<Remote>> {
    Ok(Remote::attached(&dir.join(SOCKET))?.filter(Remote::answers))
}
