//! Placement of the workers' results.

use milepost::Result;
use milepost_codec::{Item, PathBytes, SkipReason};

use super::walk::Walk;
use super::workers::{Done, Outcome, Ticket};

impl Walk<'_, '_, '_> {
    /// Places results of workers.
    pub(super) fn place_all(&mut self, done: Vec<Done>) -> Result<()> {
        for done in done {
            let (outcomes, stored) = done?;
            self.stored += stored;
            for (ticket, attempt, outcome) in outcomes {
                self.place(ticket, attempt, outcome)?;
            }
        }
        Ok(())
    }

    fn place(&mut self, ticket: Ticket, attempt: u8, outcome: Outcome) -> Result<()> {
        match outcome {
            Outcome::Again => self.again.push((ticket, attempt + 1)),
            Outcome::Gone => self.assembly.place(ticket, None, None)?,
            Outcome::Denied => self.skip_ticket(ticket, SkipReason::Denied, 0)?,
            Outcome::Other => self.something_else(ticket, attempt)?,
            Outcome::Read { content, stamp, settled, unstable } => {
                self.read += 1;
                if unstable {
                    let path = self.assembly.path_of(ticket);
                    let path = PathBytes::from(path.as_slice());
                    self.skip_path(ticket.0, path, SkipReason::Unstable, content.len);
                }
                let item = Item { mode: stamp.bits(), kind: content.kind(unstable) };
                let known = settled.then(|| Box::new((stamp, content)));
                self.assembly.place(ticket, Some(item), known)?;
            }
        }
        Ok(())
    }

    /// Lists a pending place as left out.
    pub(super) fn skip_ticket(
        &mut self,
        ticket: Ticket,
        reason: SkipReason,
        size: u64,
    ) -> Result<()> {
        let path = self.assembly.path_of(ticket);
        self.skip_path(ticket.0, PathBytes::from(path.as_slice()), reason, size);
        self.assembly.place(ticket, None, None)
    }
}
