//! Authors of changes: histories of a run and of others, and the effect of a restore that leaves
//! changes of others. `docs/AGENTS.md` has the rules.

mod named;
mod recorder;
mod rows;
mod truth;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use milepost::events::RunControl;
use milepost::{ErrorKind, LineageId, Offset, Point, Scope};
use milepost_tests::seed::{Random, number, seed};
use milepost_workspace::{CaptureReport, Choices, Plan, TreePath};

use self::recorder::{SHARED, UNCAPTURED};
use self::truth::{Known, Truth, Who};
use crate::workspace::{Scene, content, none};

/// A point to go back to.
struct Target {
    point: Point,
    known: Known,
    /// The points in the history of the folder then.
    line: BTreeSet<usize>,
    /// `true` within a call: behind a restore to it, that call never returns.
    is_within: bool,
}

/// Scope of an undo.
enum Undo {
    Files(Known, BTreeSet<usize>),
    State,
}

/// A random history.
struct History {
    scene: Scene,
    truth: Truth,
    targets: Vec<Target>,
    /// The points in the history of the folder, by their places.
    line: BTreeSet<usize>,
    undos: Vec<Undo>,
    calls: u32,
    /// Number of open calls.
    open: u32,
    /// `true` if something was lost, or a lineage was left without its files.
    is_unsure: bool,
    /// `true` after the state went elsewhere without the files. The log of the lineage there does
    /// not have what happened to the folder in between: what others wrote before the present
    /// content is not told then.
    has_left_state: bool,
    /// Calls and returns that can be erased.
    events: Vec<(LineageId, Offset)>,
    what: String,
    counts: Counts,
}

#[derive(Default, Debug)]
struct Counts {
    restores: u64,
    sure: u64,
    conflicts: u64,
    left: u64,
    taken: u64,
    undone: u64,
    /// Conflicts about paths that only one wrote: safe, and a question too many.
    unexpected: u64,
}

#[test]
fn a_restore_takes_back_what_the_run_changed_and_nothing_of_others_that_was_not_asked_about() {
    let (seed, cases) = (seed(), number("MILEPOST_CASES").unwrap_or(40));
    let mut counts = Counts::default();
    for case in 0..cases {
        let mut random = Random::new(seed.wrapping_add(case).wrapping_mul(7919));
        let mut history = History::begin(case, counts);
        let lossy = case % 2 == 1;
        for step in 0..40 {
            history.what = format!("case {case}, step {step}");
            history.step(&mut random, lossy);
        }
        history.scene.assert_clean();
        counts = history.counts;
    }
    println!("{counts:?}");
    let Counts { restores, sure, conflicts, left, taken, undone, unexpected } = counts;
    assert!(unexpected * 50 <= conflicts, "{unexpected} of {conflicts}");
    let all = [restores, sure, conflicts, left, taken, undone];
    assert!(cases < 40 || all.iter().all(|count| *count > 0), "{all:?}");
}

impl History {
    fn begin(case: u64, counts: Counts) -> Self {
        let scene = Scene::begin();
        let truth = Truth::default();
        let mut history = Self {
            scene,
            truth,
            targets: Vec::new(),
            line: BTreeSet::new(),
            undos: Vec::new(),
            calls: 0,
            open: 0,
            is_unsure: false,
            has_left_state: false,
            events: Vec::new(),
            what: format!("case {case}"),
            counts,
        };
        let report = history.scene.prompt();
        history.captured(&report);
        history
    }

    fn step(&mut self, random: &mut Random, lossy: bool) {
        let kind = random.below(if lossy { 26 } else { 17 });
        match kind {
            0..=5 => self.whole_call(random),
            6..=9 => self.edit(random, Who::Others),
            10 => {
                let report = self.scene.prompt();
                self.captured(&report);
            }
            11 => self.overlap(random),
            12..=14 => self.restore(random, true),
            15 => self.restore(random, false),
            16 => self.undo(false),
            17 => self.killed(random),
            18 => self.without_after(random),
            19 => self.without_before(random),
            20 => self.shared(random),
            21 => self.uncaptured(random),
            22 => self.erase(random),
            23 => self.leave_state(random),
            24 => self.end_run(),
            _ => self.restore(random, true),
        }
    }

    fn folder(&self) -> PathBuf {
        self.scene.folder()
    }

    fn edit(&mut self, random: &mut Random, who: Who) {
        truth::change(&self.folder(), random);
        self.truth.see(&content(&self.folder()), who);
    }

    fn edits(&mut self, random: &mut Random, who: Who) {
        for _ in 0..1 + random.below(3) {
            self.edit(random, who);
        }
    }

    /// Adds a point to go back to, at a capture with a mark.
    fn captured(&mut self, report: &CaptureReport) {
        let point = self.scene.engine.point(&report.checkpoint.unwrap().to_string()).unwrap();
        self.line.insert(self.targets.len());
        let (known, line) = (self.truth.known(), self.line.clone());
        self.targets.push(Target { point, known, line, is_within: self.open > 0 });
    }

    /// Adds the last event to those that can be erased.
    fn recorded(&mut self) {
        let task = self.scene.engine.task("t").unwrap();
        self.events.push((task.lineage().id(), task.head().unwrap().next - 1));
    }

    fn next_call(&mut self) -> String {
        self.calls += 1;
        format!("call-{}", self.calls)
    }

    fn begin_call(&mut self, actor: &'static str) -> String {
        let call = self.next_call();
        let report = self.scene.before(actor, &call, None);
        self.captured(&report);
        self.scene.called(actor, &call);
        self.recorded();
        self.open += 1;
        call
    }

    fn end_call(&mut self, random: &mut Random, actor: &str, call: &str) {
        let is_first = random.below(2) == 0;
        if is_first {
            self.scene.returned(actor, call);
            self.recorded();
        }
        let report = self.scene.after(actor, call, None);
        self.open = self.open.saturating_sub(1);
        self.captured(&report);
        if !is_first {
            self.scene.returned(actor, call);
        }
    }

    fn whole_call(&mut self, random: &mut Random) {
        let call = self.begin_call("agent");
        self.edits(random, Who::Run);
        self.end_call(random, "agent", &call);
    }

    /// A call of a part of the agent overlaps with one of the agent, either way.
    fn overlap(&mut self, random: &mut Random) {
        let first = self.begin_call("agent");
        self.edits(random, Who::Run);
        let second = self.begin_call("agent:sub");
        self.edits(random, Who::Run);
        let both = [("agent", first), ("agent:sub", second)];
        let at = random.below(2) as usize;
        for (actor, call) in [&both[at], &both[1 - at]] {
            self.edits(random, Who::Run);
            self.end_call(random, actor, call);
        }
    }

    /// The agent is killed in a call.
    fn killed(&mut self, random: &mut Random) {
        self.is_unsure = true;
        let call = self.next_call();
        let report = self.scene.before("agent", &call, None);
        self.captured(&report);
        if random.below(3) > 0 {
            self.scene.called("agent", &call);
        }
        self.edits(random, Who::Run);
    }

    fn without_after(&mut self, random: &mut Random) {
        self.is_unsure = true;
        let call = self.begin_call("agent");
        self.edits(random, Who::Run);
        self.scene.returned("agent", &call);
    }

    fn without_before(&mut self, random: &mut Random) {
        self.is_unsure = true;
        let call = self.next_call();
        self.scene.called("agent", &call);
        self.edits(random, Who::Run);
        self.end_call(random, "agent", &call);
    }

    fn shared(&mut self, random: &mut Random) {
        self.is_unsure = true;
        let call = self.begin_call("agent");
        self.edits(random, Who::Run);
        self.edits(random, Who::Others);
        let report = self.scene.after("agent", &call, Some(SHARED));
        self.captured(&report);
    }

    fn uncaptured(&mut self, random: &mut Random) {
        self.is_unsure = true;
        let call = self.next_call();
        self.edits(random, Who::Run);
        let report = self.scene.before("agent", &call, Some(UNCAPTURED));
        self.captured(&report);
        self.scene.called("agent", &call);
        self.edits(random, Who::Run);
        self.end_call(random, "agent", &call);
    }

    fn end_run(&mut self) {
        let task = self.scene.engine.task("t").unwrap();
        let to = match task.control().now().unwrap() {
            RunControl::Running => RunControl::Stopped,
            _ => RunControl::Running,
        };
        task.control().change(to, None).unwrap();
    }

    fn erase(&mut self, random: &mut Random) {
        if self.events.is_empty() {
            return;
        }
        self.is_unsure = true;
        let active = self.scene.engine.task("t").unwrap().lineage().id();
        let at = random.below(self.events.len() as u64) as usize;
        let (lineage, offset) = self.events[at];
        if lineage != active {
            return;
        }
        self.events.swap_remove(at);
        self.scene.erase(offset);
    }

    /// Goes to another state, and leaves the files.
    fn leave_state(&mut self, random: &mut Random) {
        let Some(target) = self.pick(random) else {
            return;
        };
        self.is_unsure = true;
        self.has_left_state = true;
        let point = &self.targets[target].point;
        if random.below(2) == 0 {
            self.scene.engine.restore(point).run().unwrap();
            self.undos.push(Undo::State);
            return;
        }
        let task = self.scene.engine.task("t").unwrap();
        let lineage = task.lineage_named(point.lineage).unwrap();
        if lineage.id() != task.lineage().id() {
            self.scene.engine.switch(&lineage).run().unwrap();
            self.undos.push(Undo::State);
        }
    }

    fn pick(&self, random: &mut Random) -> Option<usize> {
        let count = self.targets.len();
        (count > 0).then(|| random.below(count as u64) as usize)
    }

    fn restore(&mut self, random: &mut Random, leave: bool) {
        let Some(at) = self.pick(random) else {
            return;
        };
        let scope = if random.below(3) == 0 { Scope::Files } else { Scope::All };
        let (before, known) = (content(&self.folder()), self.truth.known());
        let (point, target) = (self.targets[at].point.clone(), self.targets[at].known.clone());
        let choices = if leave { none().leave_others() } else { none() };
        let Scene { workspace, engine, .. } = &self.scene;
        let plan = workspace.plan(engine, &point, &choices).unwrap();
        assert_eq!(content(&self.folder()), before);
        let is_sure = leave && !self.is_unsure && self.line.contains(&at) && self.has(&point);
        self.counts.sure += u64::from(is_sure);
        if leave {
            self.counts.unexpected += self.check_plan(&plan, &target, is_sure);
        }
        let asked: BTreeSet<_> =
            plan.conflicts.iter().filter_map(|conflict| conflict.path.clone()).collect();
        self.counts.conflicts += asked.len() as u64;
        let decided = asked.iter().cloned().fold(choices, Choices::keep_mine);
        let done = workspace.restore(engine, &point, scope, None, &decided);
        let now = content(&self.folder());
        let done = match done {
            Ok(done) => done,
            Err(error) => {
                // A folder that has to make room cannot be kept in part.
                assert_eq!(error.kind(), ErrorKind::Conflict, "{}: {error}", self.what);
                assert!(!asked.is_empty(), "{}: {error}", self.what);
                assert_eq!(now, before, "{}", self.what);
                return;
            }
        };
        self.counts.restores += 1;
        self.is_unsure |= self.targets[at].is_within;
        self.open = 0;
        if leave {
            self.check(&done.plan, (&target, is_sure), &asked, &before);
        }
        self.truth.restored(&now, &target, &self.what);
        let line = std::mem::replace(&mut self.line, self.targets[at].line.clone());
        self.undos.push(Undo::Files(known, line));
        if random.below(3) == 0 {
            self.undo(true);
            assert_eq!(content(&self.folder()), before, "{}: undone", self.what);
        }
    }

    /// Checks the conflicts of a plan. Returns the number of those about paths that only one wrote.
    fn check_plan(&self, plan: &Plan, target: &Known, is_sure: bool) -> u64 {
        let named = |path: &Path| {
            let mut conflicts = plan.conflicts.iter().filter_map(|conflict| conflict.path.as_ref());
            conflicts.any(|at| is_in(path, at))
                || plan.left.iter().any(|left| is_in(path, &left.path))
        };
        for (path, authors) in self.truth.authors(target) {
            // A folder that stays for what is in it is not asked about.
            let is_new =
                self.truth.content(target, &path).is_none() && self.folder().join(&path).is_dir();
            let others = match self.has_left_state {
                true => authors.is_now_of_others,
                false => authors.others,
            };
            if authors.run && others && !is_new {
                assert!(named(&path), "{}: {path:?} is of both: {plan}", self.what);
            }
        }
        let mut unexpected = 0;
        if !is_sure {
            return unexpected;
        }
        let authors = self.truth.authors(target);
        for conflict in &plan.conflicts {
            let at = conflict.path.as_ref().unwrap();
            let is_both = |(path, authors): (&PathBuf, &truth::Authors)| {
                let is_here = tree_path(path) == *at;
                is_here && (authors.is_unknown || authors.run && authors.others)
            };
            // Something below is of others, or the place of something of the run is taken.
            let mut below = authors.iter().filter(|(path, _)| is_in(path, at));
            let is_mixed = below.clone().any(|(_, authors)| authors.run)
                && below.any(|(_, authors)| authors.others);
            let mut above = authors.iter().filter(|(path, _)| at.is_in(&tree_path(path)));
            let takes_room =
                above.any(|(_, authors)| authors.run) && authors.iter().any(is_both_or_others(at));
            let is_expected = authors.iter().any(is_both) || is_mixed || takes_room;
            unexpected += u64::from(!is_expected);
        }
        unexpected
    }

    /// Checks the effect of a restore.
    fn check(
        &mut self,
        plan: &Plan,
        (target, is_sure): (&Known, bool),
        kept: &BTreeSet<TreePath>,
        before: &truth::Content,
    ) {
        let now = content(&self.folder());
        for (path, authors) in self.truth.authors(target) {
            let at = tree_path(&path);
            if kept.iter().any(|kept| at.is_in(kept)) {
                assert_eq!(now.get(&path), before.get(&path), "{}: {path:?} is kept", self.what);
                continue;
            }
            let what = format!("{}: {path:?}, {authors:?}: {plan}", self.what);
            let is_there = now.keys().any(|other| other != &path && other.starts_with(&path));
            let wanted = self.truth.content(target, &path);
            let is_listed = plan.left.iter().any(|left| at.is_in(&left.path));
            match (authors.run, authors.others) {
                _ if authors.is_unknown => {}
                _ if self.has_left_state && !authors.is_now_of_others => {}
                (true, false) if now.get(&path) == wanted.as_ref() => self.counts.taken += 1,
                // No capture has it.
                (true, false) if !is_sure && is_listed => {}
                // A folder stays for what is in it.
                (true, false) => assert!(is_there && wanted.is_none(), "{what}"),
                (false, true) if now.get(&path) == before.get(&path) => {
                    // A folder with an unknown author stays for what is in it.
                    assert!(is_listed || !is_sure, "{what}");
                    self.counts.left += 1;
                }
                // A folder comes back for what is in it.
                (false, true) => assert!(is_there && !before.contains_key(&path), "{what}"),
                (true, true) if now.get(&path) == before.get(&path) => {}
                _ => panic!("{what}"),
            }
        }
    }

    /// Returns `true` if a point is in the history of the active lineage.
    fn has(&self, point: &Point) -> bool {
        let task = self.scene.engine.task("t").unwrap();
        let hash = |point: &Point| self.scene.engine.hash_at(point).unwrap();
        task.point(point.offset).is_ok_and(|here| hash(&here) == hash(point))
    }

    fn undo(&mut self, is_at_once: bool) {
        if !is_at_once && self.has_left_state && matches!(self.undos.last(), Some(Undo::Files(..)))
        {
            // The lineage that it returns to may have captures from later.
            return;
        }
        let Scene { workspace, engine, .. } = &self.scene;
        match self.undos.pop() {
            None => {}
            Some(Undo::State) => _ = engine.undo("t").run().unwrap(),
            Some(Undo::Files(known, line)) => {
                let plan = workspace.plan_undo(engine, "t", &none()).unwrap();
                let asked = plan.conflicts.iter().filter_map(|conflict| conflict.path.clone());
                let decided = asked.fold(none(), Choices::keep_mine);
                match workspace.undo(engine, "t", &decided) {
                    Ok(_) => self.counts.undone += 1,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Conflict, "{}: {error}", self.what);
                        self.undos.push(Undo::Files(known, line));
                        return;
                    }
                }
                self.truth.restored(&content(&self.folder()), &known, &self.what);
                self.line = line;
            }
        }
    }
}

/// Returns `true` for a change that is of others, of both, or unknown, at or below a path.
fn is_both_or_others(at: &TreePath) -> impl Fn((&PathBuf, &truth::Authors)) -> bool {
    move |(path, authors)| is_in(path, at) && (authors.others || authors.is_unknown)
}

fn tree_path(path: &Path) -> TreePath {
    crate::workspace::at(path.to_str().unwrap())
}

fn is_in(path: &Path, folder: &TreePath) -> bool {
    tree_path(path).is_in(folder)
}
