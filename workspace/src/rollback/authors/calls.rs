//! Calls of tools: when each was open, and the author of the changes between two captures.

use super::history::{Doubt, Moment, Role, What};
use super::reach::{Blame, Reaches};
use crate::plan::Author;

/// The calls of a history.
pub(super) struct Calls {
    all: Vec<Call>,
    /// First capture by an agent: from there on, each change of the run is within a call.
    agent: Option<usize>,
    /// Restores, switches, captures of presents and other ends of the certainty about calls.
    cuts: Vec<usize>,
}

/// A call. All numbers are places of moments.
#[derive(Debug)]
struct Call {
    id: String,
    actor: Option<String>,
    began: usize,
    /// `true` if there is a capture right before it.
    is_captured: bool,
    /// The first of the captures outside of calls right before it, if the one before it was late.
    behind: usize,
    /// The capture right after it.
    after: Option<usize>,
    /// Its return, if there is no capture after it; also other events that name it.
    returned: Option<usize>,
    /// The end of a call without a return.
    closed: Option<usize>,
    /// `true` if its run ended.
    run_ended: bool,
    /// `true` if a restore ended it in this history.
    is_over: bool,
    /// `true` if it did not begin in this history.
    is_from_elsewhere: bool,
    /// The changes that its marks leave unknown.
    doubt: Doubt,
    /// Paths that it, and calls of other sessions that were open, may have changed.
    reaches: Reaches,
}

impl Calls {
    pub(super) fn of(moments: &[Moment]) -> Self {
        let mut calls = Self { all: Vec::new(), agent: None, cuts: Vec::new() };
        // The first moment from which a call without a beginning may have been open.
        let mut since = 0;
        for (n, moment) in moments.iter().enumerate() {
            let id = moment.call.as_deref();
            if let What::Captured { role, .. } = &moment.what {
                calls.end_of_run(n);
                if calls.agent.is_none() && moment.actor.as_deref().is_some_and(is_agent) {
                    calls.agent = Some(n);
                }
                match (role, id) {
                    (Role::Before, Some(id)) => calls.begin(id, moment, n, true),
                    (Role::After, Some(id)) => calls.after(id, moment, n, since),
                    (Role::Within, Some(id)) => {
                        calls.after(id, moment, n, since);
                        // The part after the capture ends at a later one.
                        calls.all.push(Call::new(id, moment, n, true));
                    }
                    (Role::Present, _) => calls.cuts.push(n),
                    _ => {}
                }
                continue;
            }
            match (&moment.what, id) {
                (What::Began, Some(id)) => calls.begin(id, moment, n, false),
                (What::Returned, Some(id)) => calls.returned(id, moment, n, since),
                (What::Unread, Some(id)) => calls.mentioned(id, moment, n),
                (What::RunEnded, _) => {
                    let actor = moment.actor.as_deref();
                    let of_run = calls.all.iter_mut().filter(|call| call.is_of_run(actor));
                    of_run.for_each(|call| call.run_ended = true);
                }
                (What::Restored | What::Gap, _) => {
                    calls.close_all(n);
                    calls.cuts.push(n);
                    since = n;
                }
                (What::Jumped { .. }, _) => {
                    calls.cuts.push(n);
                    since = n;
                }
                _ => {}
            }
        }
        let is_late = |n: usize| moments.get(n).is_some_and(|it| it.doubt == Doubt::Before);
        for call in calls.all.iter_mut().filter(|call| call.is_captured && is_late(call.began)) {
            call.behind = first_before(moments, call.began);
        }
        calls
    }

    /// Returns the author of the changes between two captures, given by their places. The second
    /// may be the present. Without a first one it is unknown.
    pub(super) fn author(&self, moments: &[Moment], from: Option<usize>, to: usize) -> Blame {
        let Some(from) = from else {
            return Blame::All(Author::Unknown);
        };
        let between = moments.get(from + 1..to).unwrap_or_default();
        let is_unsure = |n: usize| moments.get(n).is_some_and(|moment| moment.is_unsure);
        let is_gap =
            |moment: &Moment| matches!(moment.what, What::Unread | What::Gap | What::Jumped { .. });
        let role = match moments.get(to).map(|moment| &moment.what) {
            Some(What::Captured { role, .. }) => *role,
            Some(_) => return Blame::All(Author::Unknown),
            None => Role::Present,
        };
        if is_unsure(from) || is_unsure(to) || between.iter().any(is_gap) {
            return Blame::All(Author::Unknown);
        }
        let is_shared = |n: usize| moments.get(n).is_some_and(|it| it.doubt == Doubt::During);
        let is_quiet = || !between.iter().any(|moment| matches!(moment.what, What::Ran));
        let is_by_agent = self.agent.is_some_and(|agent| agent <= from);
        Blame::All(match role {
            Role::Placed => Author::Others,
            Role::Carried => Author::Unknown,
            _ if is_shared(from) || is_shared(to) || self.is_doubtful(from, to) => {
                return self.shared(from, to);
            }
            _ if self.all.iter().any(|call| self.is_open_throughout(call, from, to)) => Author::Run,
            _ if self.all.iter().any(|call| call.is_open_within(from, to)) => Author::Unknown,
            _ if is_by_agent => Author::Others,
            Role::Before | Role::Present if is_quiet() => Author::Others,
            _ => Author::Unknown,
        })
    }

    fn is_doubtful(&self, from: usize, to: usize) -> bool {
        self.all.iter().any(|call| call.is_doubtful_within(from, to))
    }

    /// Returns the authors of changes while calls of other sessions were open: paths decide.
    fn shared(&self, from: usize, to: usize) -> Blame {
        let is_untold =
            |call: &Call| call.doubt > Doubt::During && call.is_doubtful_within(from, to);
        let is_open = self.all.iter().any(|call| self.is_open_throughout(call, from, to));
        if !is_open || self.all.iter().any(is_untold) {
            return Blame::All(Author::Unknown);
        }
        let mut reaches = Reaches::default();
        let open = self.all.iter().filter(|call| call.is_open_within(from, to));
        open.for_each(|call| reaches.add(&call.reaches));
        Blame::Each(reaches)
    }

    /// Returns `true` if a call was certainly open all the time between two captures.
    fn is_open_throughout(&self, call: &Call, from: usize, to: usize) -> bool {
        let begins = match call.is_captured {
            true => call.began <= from,
            false => call.began < from,
        };
        let ends = match (call.after, call.returned) {
            (Some(after), _) => to <= after,
            (None, Some(returned)) => to < returned,
            (None, None) => false,
        } && call.closed.is_none_or(|closed| to <= closed);
        let is_cut = self.cuts.iter().any(|cut| call.began < *cut && *cut < to);
        begins && ends && !is_cut && !call.is_from_elsewhere
    }

    /// Returns the last call with this id, if no capture followed it.
    fn open(&mut self, id: &str) -> Option<&mut Call> {
        let last = self.all.iter_mut().rev().find(|call| call.id == id);
        last.filter(|call| call.after.is_none() && !call.is_over)
    }

    fn begin(&mut self, id: &str, moment: &Moment, n: usize, is_captured: bool) {
        if !is_captured && self.open(id).is_some() {
            return;
        }
        for call in &mut self.all {
            // The same agent begins its next call only after this one, unless this one returns.
            if call.actor == moment.actor && call.closed.is_none() {
                call.closed = Some(n);
            }
        }
        self.all.push(Call::new(id, moment, n, is_captured));
    }

    fn after(&mut self, id: &str, moment: &Moment, n: usize, since: usize) {
        let last = self.all.iter_mut().rev().find(|call| call.id == id);
        match last.filter(|call| !call.is_over && !call.is_from_elsewhere) {
            Some(call) => {
                call.after = Some(n);
                call.doubt = call.doubt.max(moment.doubt);
                call.reaches.add(&moment.reaches);
            }
            None => self.all.push(Call::from_elsewhere(id, moment, since, n)),
        }
    }

    fn returned(&mut self, id: &str, moment: &Moment, n: usize, since: usize) {
        if self.all.iter().any(|call| call.id == id) {
            if let Some(call) = self.open(id) {
                call.returned = Some(n);
            }
            return;
        }
        self.all.push(Call::from_elsewhere(id, moment, since, n));
    }

    /// Adds an event about a call that cannot be read.
    fn mentioned(&mut self, id: &str, moment: &Moment, n: usize) {
        match self.open(id) {
            Some(call) => {
                call.returned = call.returned.map(|_| n);
                call.closed = None;
            }
            None => self.begin(id, moment, n, false),
        }
    }

    /// Closes the calls of a run that ended, at a capture.
    fn end_of_run(&mut self, n: usize) {
        for call in self.all.iter_mut().filter(|call| call.run_ended && call.closed.is_none()) {
            call.closed = Some(n);
        }
    }

    fn close_all(&mut self, n: usize) {
        for call in &mut self.all {
            call.closed.get_or_insert(n);
            call.is_over = true;
        }
    }
}

impl Call {
    fn new(id: &str, moment: &Moment, began: usize, is_captured: bool) -> Self {
        Self {
            id: id.to_owned(),
            actor: moment.actor.clone(),
            began,
            is_captured,
            behind: began,
            after: None,
            returned: None,
            closed: None,
            run_ended: false,
            is_over: false,
            is_from_elsewhere: false,
            doubt: if is_captured { moment.doubt } else { Doubt::Nothing },
            reaches: if is_captured { moment.reaches.clone() } else { Reaches::unmarked() },
        }
    }

    /// Returns a call whose beginning is not in this history.
    fn from_elsewhere(id: &str, moment: &Moment, since: usize, returned: usize) -> Self {
        let call = Self::new(id, moment, since, false);
        Self { returned: Some(returned), is_from_elsewhere: true, ..call }
    }

    /// Returns `true` if the call may have been open at any time between two captures.
    fn is_open_within(&self, from: usize, to: usize) -> bool {
        let end = self.after.or(self.returned).or(self.closed);
        self.began < to && end.is_none_or(|end| from < end)
    }

    /// Returns `true` if a mark of the call leaves the changes between two captures unknown.
    fn is_doubtful_within(&self, from: usize, to: usize) -> bool {
        // The captures right before it may have been late, too: they followed the tool.
        let is_before = self.doubt == Doubt::Before && (self.behind..=self.began).contains(&to);
        self.doubt > Doubt::Nothing && (is_before || self.is_open_within(from, to))
    }

    /// Returns `true` if the call ends with the run of this actor.
    fn is_of_run(&self, actor: Option<&str>) -> bool {
        match (actor, self.actor.as_deref()) {
            (None, _) => true,
            (Some(run), Some(own)) => {
                own.strip_prefix(run).is_some_and(|sub| sub.is_empty() || sub.starts_with(':'))
            }
            (Some(_), None) => false,
        }
    }
}

/// Returns the first of the captures outside of calls right before a call began.
fn first_before(moments: &[Moment], began: usize) -> usize {
    let before = moments.get(..began).unwrap_or_default().iter().enumerate().rev();
    let mut first = began;
    for (n, moment) in before {
        match &moment.what {
            What::Captured { role: Role::Other, .. } => first = n,
            What::Captured { .. } | What::Restored | What::Gap | What::Jumped { .. } => break,
            _ => {}
        }
    }
    first
}

/// Returns `true` for an agent or a part of it.
fn is_agent(actor: &str) -> bool {
    actor == "agent" || actor.starts_with("agent:")
}
